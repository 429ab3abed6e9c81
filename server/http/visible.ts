/**
 * Characters that a name may not hold, because nobody sees them or because they turn the text around. These are control
 * and bidi characters, line separators, and every Default_Ignorable_Code_Point of Unicode.
 *
 * Three of them stay where a script or an emoji needs them:
 *
 * - A zero-width joiner or non-joiner stands between two letters of a script that joins, as in Persian and Hindi.
 * - A zero-width joiner stands between two pictures.
 * - U+FE0F stands after a picture, or in a keycap.
 *
 * Contract §10 "Names refuse control, bidi and invisible characters".
 */

const hidden = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]/u

/** Scripts whose letters change their shape by a joiner. */
const joining = [
  ...['Arab', 'Syrc', 'Nkoo', 'Mand', 'Rohg'],
  ...['Deva', 'Beng', 'Guru', 'Gujr', 'Orya', 'Taml', 'Telu', 'Knda', 'Mlym', 'Sinh', 'Mymr', 'Khmr', 'Tibt'],
]
const letter = `[[${joining.map((script) => `\\p{scx=${script}}`).join('')}]&&[\\p{L}\\p{M}]]`
const picture = '\\p{Extended_Pictographic}'

/** Where a joiner or U+FE0F is part of the spelling. */
const needed = new RegExp(
  [
    `(?<=${letter})[\\u200c\\u200d](?=${letter})`,
    `(?<=[${picture}\\p{Emoji_Modifier}\\ufe0f])\\u200d(?=${picture})`,
    `(?<=${picture}\\p{Emoji_Modifier}?)\\ufe0f`,
    '(?<=[0-9#*])\\ufe0f(?=\\u20e3)',
  ].join('|'),
  'gv',
)

/** The first character that may not stand in a name, as `U+202E`; undefined where there is none. */
export function hiddenIn(text: string): string | undefined {
  const [found] = hidden.exec(text.replace(needed, '')) ?? []
  return found && `U+${(found.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
}
