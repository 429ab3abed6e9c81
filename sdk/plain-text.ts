/**
 * Neutralising untrusted text for a terminal, a page and a model, and cuts of text.
 *
 * - An invisible character is shown as `<U+XXXX>`: a control, a format character (such as bidi controls and
 *   tags), a line or paragraph separator, a lone surrogate, every Default_Ignorable_Code_Point. A person does
 *   not see these characters, but a program or a model reads them, so they can carry hidden text.
 * - A joiner or a variation selector stays where an emoji or a script needs it, one at a time. See {@link
 *   needs}.
 * - A body is fenced: each of its lines begins with `| `, so that no line of it can imitate our own output.
 * - A cut leaves no half of a surrogate pair. The node refuses a text with one.
 *
 * It uses no `node:` module and keeps no state, so a page in a browser can use it. Contract §12.
 */

/** Text that needs no change: printable ASCII, tabs and newlines. */
const plain = /^[\t\n -~]*$/

/**
 * Matches one invisible character, or the flag of England, Scotland or Wales, which consists of invisible
 * tags and is allowed because Unicode recommends it for general interchange. Tabs and newlines are handled by
 * the functions below. It is built on demand, because every program loads this file and few texts need it.
 */
const unseen = () =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it is about
  /\u{1f3f4}\u{e0067}\u{e0062}(?:\u{e0065}\u{e006e}\u{e0067}|\u{e0073}\u{e0063}\u{e0074}|\u{e0077}\u{e006c}\u{e0073})\u{e007f}|[\u0000-\u0008\u000b-\u001f\u007f-\u009f\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu

const joiner = /^(?:[\u180b-\u180d\u180f\ufe00\ufe0e\ufe0f]|\u200c|\u200d)$/

/**
 * Virama signs, which remove the vowel of a letter and join it to the next one: Canonical_Combining_Class 9.
 */
const viramas =
  '094d 09cd 0a4d 0acd 0b4d 0bcd 0c4d 0ccd 0d3b 0d3c 0d4d 0dca 0f84 1039 103a 1714 1715 1734 17d2 1a60 1b44 1baa ' +
  '1bab 1bf2 1bf3 a806 a82c a8c4 a953 a9c0 aaf6 abed 10a3f 11046 11070 1107f 110b9 11133 11134 111c0 11235 112ea ' +
  '1134d 113ce 113cf 113d0 11442 114c2 115bf 1163f 116b6 1172b 11839 1193d 1193e 119e0 11a34 11a47 11a99 11c3f ' +
  '11d44 11d45 11d97 11f41 11f42'

/** Returns a pattern that matches a joiner where it changes the shape of its neighbours. */
function needs(): RegExp {
  const nothing = '\\p{Default_Ignorable_Code_Point}'
  const letter = `(?!${nothing})[\\p{L}\\p{M}]`
  const of = (...scripts: readonly string[]) =>
    `(?=${letter})[${scripts.map((script) => `\\p{scx=${script}}`).join('')}]`
  // Scripts whose letters change their shape where they join.
  const cursive = of(
    ...['Adlam', 'Arabic', 'Hanifi_Rohingya', 'Mandaic', 'Manichaean', 'Mongolian', 'Nko', 'Phags_Pa'],
    ...['Psalter_Pahlavi', 'Sogdian', 'Syriac'],
  )
  const virama = `[${viramas.replace(/(\S+) ?/g, '\\u{$1}')}]`
  const places = [
    // Emoji that are joined, with a skin tone: 👩🏽‍💻. An emoji that is also text: ❤️, ❤︎, 1️⃣.
    '(?<=\\p{Extended_Pictographic}[\\ufe0f\\p{Emoji_Modifier}]?)\\u200d(?=\\p{Extended_Pictographic})',
    '(?<=\\p{Extended_Pictographic})[\\ufe0e\\ufe0f]',
    '(?<=[0-9#*])\\ufe0f(?=\\u20e3)',
    // Two letters that must not join: Persian می‌خواهم.
    `(?<=${cursive})\\u200c(?=${cursive})`,
    // A letter in its joined form without a neighbour: ه‍.
    `(?<=${cursive})\\u200d(?!${cursive}|${nothing})`,
    `(?<!${cursive}|${nothing})\\u200d(?=${cursive})`,
    // Whether two letters become one, and the form of the first: क्‍ष, क्‌ष, ශ්‍රී, ന്‍, র‍্য.
    `(?<=${virama})[\\u200c\\u200d](?!${nothing})`,
    `(?<=${letter})[\\u200c\\u200d](?=${virama})`,
    // Another form of one letter.
    `(?<=${of('Mongolian')})[\\u180b-\\u180d\\u180f]`,
    `(?<=${of('Myanmar', 'Phags_Pa')})\\ufe00`,
  ]
  return new RegExp(`(?:${places.join('|')})`, 'uy')
}

/** Replaces each invisible character by the result of `show`. */
function spelled(text: string, show: (character: string) => string): string {
  if (plain.test(text)) return text
  // The pattern is built on demand: few texts hold a joiner, and building it costs more than all the rest.
  let needed: RegExp | undefined
  return text.replace(unseen(), (found: string, at: number) => {
    if (found.startsWith('\u{1f3f4}')) return found
    if (joiner.test(found)) {
      needed ??= needs()
      needed.lastIndex = at
      if (needed.test(text)) return found
    }
    return show(found)
  })
}

const named = (character: string): string =>
  `<U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}>`

/**
 * Makes untrusted text safe to display: every character is visible and none has an effect. Newlines and tabs
 * stay.
 */
export const neutralize = (text: string): string => spelled(text, named)

/** Part of a text: readable characters, or the name of one invisible character. */
export interface VisiblePiece {
  readonly text: string
  readonly isName: boolean
}

/** Like {@link neutralize}, in pieces, for a page that shows the names of invisible characters as chips. */
export const visiblePieces = (text: string): VisiblePiece[] =>
  // NUL is invisible itself, so the result holds it only as a border.
  spelled(text, (character) => `\0${named(character)}\0`)
    .split('\0')
    .map((piece, index) => ({ text: piece, isName: index % 2 === 1 }))
    .filter((piece) => piece.text !== '')

/** Like {@link neutralize}, for a value that must stay on one line. */
export const oneLine = (text: string): string =>
  neutralize(text).replace(/\n/g, '<U+000A>').replace(/\t/g, ' ')

/** Like {@link neutralize}, for a message body: every line of the result begins with `| `. */
export const fenced = (body: string): string =>
  neutralize(body.replace(/\r\n/g, '\n'))
    .split('\n')
    .map((line) => `| ${line}`)
    .join('\n')

/** Returns JSON of the value in which invisible characters are written as `\u` escapes. */
export const plainJson = (value: unknown): string =>
  spelled(JSON.stringify(value), (character) =>
    Array.from({ length: character.length }, (_, unit) => {
      const code = character.charCodeAt(unit).toString(16).padStart(4, '0')
      return `\\u${code}`
    }).join(''),
  )

/** Returns at most the first `length` UTF-16 units of a text. */
export const startOf = (text: string, length: number): string =>
  (text.length > length ? text.slice(0, length).replace(/[\ud800-\udbff]$/, '') : text).toWellFormed()

/** Returns at most the last `length` UTF-16 units of a text. */
export const endOf = (text: string, length: number): string =>
  (text.length > length ? text.slice(-length).replace(/^[\udc00-\udfff]/, '') : text).toWellFormed()

/** Returns the text in at most `bytes` bytes of UTF-8. An ellipsis marks a cut. */
export function withinBytes(text: string, bytes: number): string {
  const whole = new TextEncoder().encode(text)
  if (whole.length <= bytes) return text.toWellFormed()
  const mark = ' …'
  const cut = whole.subarray(0, bytes - new TextEncoder().encode(mark).length)
  return `${new TextDecoder('utf-8', { ignoreBOM: true }).decode(cut, { stream: true })}${mark}`
}
