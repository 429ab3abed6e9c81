/**
 * Remote text made harmless for a terminal and for a reader.
 *
 * - Terminal escapes (C0, C1, DEL), bidi controls and invisible line breaks are shown as `<U+XXXX>`, never sent.
 * - A body is fenced: each of its lines begins with `| `, so nothing in it can pose as a line of ours.
 *
 * Contract §12.
 */

/**
 * C0 but tab and newline, DEL, C1, Arabic letter mark, directional marks, line separators, embeddings, isolates, BOM,
 * lone surrogates, tags.
 */
const harmful =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it is about
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff\u{e0000}-\u{e007f}]/gu

const codePoint = (character: string): string =>
  (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')

/** Text of any origin, newlines and tabs kept. */
export const neutralize = (text: string): string =>
  text.replace(harmful, (character) => `<U+${codePoint(character)}>`)

/** A value that has to stay on its line. */
export const oneLine = (text: string): string =>
  neutralize(text).replace(/\n/g, '<U+000A>').replace(/\t/g, ' ')

/** A body as data: every line prefixed, whatever it holds. */
export const fenced = (body: string): string =>
  neutralize(body.replace(/\r\n/g, '\n'))
    .split('\n')
    .map((line) => `| ${line}`)
    .join('\n')

/** JSON in which nothing harmful stands raw: the same value, spelled with `\u` escapes. */
export const plainJson = (value: unknown): string =>
  JSON.stringify(value).replace(harmful, (character) =>
    Array.from({ length: character.length }, (_, unit) => {
      const code = character.charCodeAt(unit).toString(16).padStart(4, '0')
      return `\\u${code}`
    }).join(''),
  )
