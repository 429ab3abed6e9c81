/** Splits standard input into lines of bounded length. The rest of a line that is too long is skipped, not kept. */

/** Longest line that is read, without its line end. The largest message body fits, however it is escaped. */
export const lineBytes = 1024 * 1024

export type Line = { readonly text: string } | { readonly fault: 'too long' | 'not UTF-8' }

const newline = 0x0a

/** Yields each complete line that is not blank. A last line without a line end is dropped. */
export async function* linesOf(
  input: AsyncIterable<Buffer | string>,
  most = lineBytes,
): AsyncGenerator<Line, void, undefined> {
  let kept: Buffer[] = []
  let length = 0
  const add = (bytes: Buffer) => {
    length += bytes.length
    if (length > most) kept = []
    else kept.push(bytes)
  }
  for await (const chunk of input) {
    let rest = Buffer.from(chunk as Buffer)
    for (let at = rest.indexOf(newline); at >= 0; at = rest.indexOf(newline)) {
      add(rest.subarray(0, at))
      const line = length > most ? ({ fault: 'too long' } as const) : decoded(Buffer.concat(kept))
      if (!('text' in line) || line.text.trim() !== '') yield line
      kept = []
      length = 0
      rest = rest.subarray(at + 1)
    }
    add(rest)
  }
}

function decoded(bytes: Buffer): Line {
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) }
  } catch {
    return { fault: 'not UTF-8' }
  }
}
