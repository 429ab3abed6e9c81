/**
 * Body of a message in a box of its own, with the name of its writer.
 *
 * Lines that begin with ``` enclose code. Nothing else is interpreted: an address stays text, so a click can
 * never leave the page.
 */
import { useState } from 'preact/hooks'
import { visiblePieces } from '../../../../sdk/browser.ts'
import { Copy } from '../parts/copy.tsx'
import { plural } from '../words/plural.ts'
import { Pieces, Visible } from './visible.tsx'

const foldedLines = 12
const foldedCharacters = 1200

interface Props {
  readonly text: string
  readonly from: string
  readonly encoding?: 'text' | 'age' | undefined
}

export function Body({ text, from, encoding = 'text' }: Props) {
  const [isOpen, open] = useState(false)
  if (encoding === 'age') return <Sealed text={text} />
  const lines = text.replace(/\r\n/g, '\n').split('\n')
  const isLong = lines.length > foldedLines || text.length > foldedCharacters
  const shown = isOpen || !isLong ? lines : folded(lines)
  const hidden = visiblePieces(text).filter(({ isName }) => isName).length
  return (
    <figure class="body">
      <figcaption>
        written by <Visible text={from} />
        {hidden > 0 && ` · ${plural(hidden, 'invisible character')} shown`}
      </figcaption>
      {blocksOf(shown).map(({ isCode, lines: block }, index) =>
        isCode ? (
          <pre key={index}>
            <Pieces text={block.join('\n')} />
          </pre>
        ) : (
          <p key={index} dir="auto">
            <Pieces text={block.join('\n')} />
          </p>
        ),
      )}
      <p class="actions">
        {isLong && (
          <button type="button" class="quiet" aria-expanded={isOpen} onClick={() => open(!isOpen)}>
            {isOpen
              ? 'Show less'
              : `Show all (${plural(lines.length, 'line')}, ${Math.ceil(text.length / 1024)} KB)`}
          </button>
        )}
        <Copy text={text} label="Copy" isQuiet />
      </p>
    </figure>
  )
}

function Sealed({ text }: { readonly text: string }) {
  return (
    <details class="body">
      <summary>Sealed: only the machine of its reader can open it. {text.length} characters</summary>
      <pre>{text}</pre>
    </details>
  )
}

function folded(lines: readonly string[]): string[] {
  const text = lines.slice(0, foldedLines).join('\n')
  const cut = Array.from(text).slice(0, foldedCharacters).join('')
  return cut.split('\n')
}

interface Block {
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
