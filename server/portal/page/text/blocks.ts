/** Splits a text at fences. Lines that begin with ``` enclose code, and nothing else is interpreted. */

export interface Block {
  readonly isCode: boolean
  readonly lines: string[]
}

/** Splits lines at fences. A fence without its end encloses the rest. */
export function blocksOf(lines: readonly string[]): Block[] {
  const blocks: Block[] = []
  let isCode = false
  let block: Block | undefined
  for (const line of lines) {
    if (line.startsWith('```')) {
      isCode = !isCode
      block = undefined
      continue
    }
    if (block === undefined) {
      block = { isCode, lines: [] }
      blocks.push(block)
    }
    block.lines.push(line)
  }
  return blocks
}

/** Returns the first lines, and no more than so many characters of them. */
export function cut(
  lines: readonly string[],
  most: { lines: number; characters: number },
): readonly string[] {
  const some = lines.slice(0, most.lines)
  const text = some.join('\n')
  if (text.length <= most.characters) return some
  // A cut within a surrogate pair would show half a character.
  const end = /[\ud800-\udbff]/.test(text[most.characters - 1] ?? '') ? most.characters - 1 : most.characters
  return text.slice(0, end).split('\n')
}
