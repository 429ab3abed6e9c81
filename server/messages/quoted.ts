/** What any terminal, editor or program may take as the end of a line. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: Python's splitlines takes the three separators too
const lineEnd = /\r\n|[\n\v\f\r\x1c-\x1e\x85\u2028\u2029]/g

/** Quotes a text of a side in a message of the service, so that no line of it reads as the service's own. */
export const quoted = (text: string): string =>
  text
    .split(lineEnd)
    .map((line) => `> ${line}`)
    .join('\n')

/** A title or name in a line of the service. It may hold ends of lines that are no control characters. */
export const inLine = (text: string): string => text.replace(lineEnd, ' ')
