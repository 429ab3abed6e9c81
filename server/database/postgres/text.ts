/**
 * Text as PostgreSQL can store it. PostgreSQL refuses U+0000, which a message may contain.
 *
 * U+0000 is stored as U+0010 and `0`, and U+0010 as two of them. Equal texts stay equal, and other texts are
 * stored unchanged.
 */
const mark = '\u0010'
// biome-ignore lint/suspicious/noControlCharactersInRegex: these characters are the subject of this file
const special = /[\u0000\u0010]/g
// biome-ignore lint/suspicious/noControlCharactersInRegex: as above
const escaped = /\u0010([\u00100])/g

export const toStored = (text: string): string =>
  text.includes('\0') || text.includes(mark)
    ? text.replace(special, (each) => (each === '\0' ? `${mark}0` : mark + mark))
    : text

export const fromStored = (stored: string): string =>
  stored.includes(mark)
    ? stored.replace(escaped, (_whole, each: string) => (each === '0' ? '\0' : mark))
    : stored
