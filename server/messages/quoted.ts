/** Quotes a text of a side in a message of the service, so that no line of it reads as the service's own. */
export const quoted = (text: string): string =>
  text
    .split('\n')
    .map((line) => `> ${line}`)
    .join('\n')
