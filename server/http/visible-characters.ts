/**
 * Characters that a name must not contain, because they are invisible or reverse the text: control and bidi
 * characters, line separators, and every Default_Ignorable_Code_Point of Unicode.
 *
 * Three of them are allowed where a script or an emoji needs them:
 *
 * - zero-width joiner and non-joiner between two letters of a joining script, as in Persian and Hindi
 * - zero-width joiner between two pictographs
 * - U+FE0F after a pictograph, or in a keycap
 *
 * Contract §10 "Names refuse control, bidi and invisible characters".
 */

const hidden = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]/u

/** Scripts in which a joiner changes the shape of letters. */
const joining = [
  ...['Arab', 'Syrc', 'Nkoo', 'Mand', 'Rohg'],
  ...['Deva', 'Beng', 'Guru', 'Gujr', 'Orya', 'Taml', 'Telu', 'Knda', 'Mlym', 'Sinh', 'Mymr', 'Khmr', 'Tibt'],
]
const letter = `[[${joining.map((script) => `\\p{scx=${script}}`).join('')}]&&[\\p{L}\\p{M}]]`
const picture = '\\p{Extended_Pictographic}'

/** Positions at which a joiner or U+FE0F is part of the spelling. */
const needed = new RegExp(
  [
    `(?<=${letter})[\\u200c\\u200d](?=${letter})`,
    `(?<=[${picture}\\p{Emoji_Modifier}\\ufe0f])\\u200d(?=${picture})`,
    `(?<=${picture}\\p{Emoji_Modifier}?)\\ufe0f`,
    '(?<=[0-9#*])\\ufe0f(?=\\u20e3)',
  ].join('|'),
  'gv',
)

/** Returns the first forbidden character, such as `U+202E`, or undefined. */
export function hiddenIn(text: string): string | undefined {
  const [found] = hidden.exec(text.replace(needed, '')) ?? []
  return found && `U+${(found.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
}
