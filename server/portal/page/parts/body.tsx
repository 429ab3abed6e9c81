/**
 * Body of a message in a box of its own, with the name of its writer.
 *
 * An address stays text, so a click can never leave the page.
 */
import { useMemo, useState } from 'preact/hooks'
import { visiblePieces } from '../../../../sdk/browser.ts'
import { blocksOf, cut } from '../text/blocks.ts'
import { Pieces, Visible } from '../text/visible.tsx'
import { plural } from '../words/plural.ts'
import { AddressList } from './address-list.tsx'
import { Copy } from './copy.tsx'

const folded = { lines: 12, characters: 1200 }
/** Lines that one press shows at most. */
const step = 2000

interface Props {
  readonly text: string
  readonly from: string
  /** The node writes in English, also where its first word is a name that is written from right to left. */
  readonly isOfService?: boolean
  readonly encoding?: 'text' | 'age' | undefined
  /** Name of the agent whose machine can open a sealed text. */
  readonly reader?: string | undefined
}

export function Body({ encoding = 'text', reader, ...plain }: Props) {
  return encoding === 'age' ? <Sealed text={plain.text} reader={reader} /> : <Plain {...plain} />
}

function Plain({ text, from, isOfService = false }: Pick<Props, 'text' | 'from' | 'isOfService'>) {
  // Number of lines that the person has opened.
  const [opened, open] = useState(0)
  const lines = useMemo(() => text.replace(/\r\n/g, '\n').split('\n'), [text])
  const hidden = useMemo(() => visiblePieces(text).filter(({ isName }) => isName).length, [text])
  const isLong = lines.length > folded.lines || text.length > folded.characters
  const shown = opened > 0 ? lines.slice(0, opened) : isLong ? cut(lines, folded) : lines
  const left = lines.length - opened
  const isCut = isLong && (opened === 0 || left > 0)
  return (
    <figure class="body">
      <figcaption>
        <span>
          written by <Visible text={from} />
          {hidden > 0 && ` · ${plural(hidden, 'invisible character')} shown`}
        </span>
        <Copy text={text} label="Copy" isQuiet />
      </figcaption>
      {blocksOf(shown).map(({ isCode, lines: block }, index) =>
        isCode ? (
          <div key={index} class="code">
            <pre>
              <Pieces text={block.join('\n')} />
            </pre>
            <Copy text={block.join('\n')} label="Copy the block" isQuiet />
          </div>
        ) : (
          <p key={index} dir={isOfService ? 'ltr' : 'auto'}>
            <Pieces text={block.join('\n')} />
          </p>
        ),
      )}
      {isCut && opened === 0 && <p class="meta">…</p>}
      {isLong && (
        <p class="actions">
          {isCut && (
            <button type="button" class="quiet" onClick={() => open(opened + step)}>
              {opened > 0
                ? `Show ${Math.min(step, left)} more lines`
                : `Show ${left > step ? `the first ${step} lines` : 'all'} (${sizeOf(lines.length, text)})`}
            </button>
          )}
          {opened > 0 && (
            <button type="button" class="quiet" onClick={() => open(0)}>
              Show less
            </button>
          )}
        </p>
      )}
      <AddressList text={text} />
    </figure>
  )
}

const bytesOf = (text: string): number => new TextEncoder().encode(text).length

function sizeOf(lines: number, text: string): string {
  const bytes = bytesOf(text)
  return `${plural(lines, 'line')}, ${bytes < 1024 ? `${bytes} bytes` : `${Math.ceil(bytes / 1024)} KB`}`
}

function Sealed({ text, reader }: Pick<Props, 'text' | 'reader'>) {
  return (
    <details class="body sealed">
      <summary>
        Sealed for {reader === undefined ? 'its reader' : <Visible text={reader} />}: only its machine can
        open this. {bytesOf(text).toLocaleString('en')} bytes
      </summary>
      <pre>
        <Pieces text={text} />
      </pre>
    </details>
  )
}
