/** Buttons that save the audit, with the filters of the screen, as a file. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { type AuditFormat, mostRecords, type ReadPage } from '../../../../../sdk/audit-export.ts'
import { nodeNow } from '../../node-clock.ts'
import { Refusal } from '../../parts/refusal.tsx'
import { exported, types } from './export.ts'

const number = new Intl.NumberFormat()

interface Props {
  readonly read: (after: string | undefined, signal: AbortSignal) => Promise<ReadPage>
}

export function ExportButtons({ read }: Props) {
  const [count, setCount] = useState<number>()
  const [words, setWords] = useState('')
  const [error, setError] = useState<unknown>(undefined)
  const stopping = useRef(new AbortController())
  useEffect(() => () => stopping.current.abort(), [])
  const run = async (format: AuditFormat) => {
    stopping.current = new AbortController()
    const { signal } = stopping.current
    setError(undefined)
    setWords('')
    setCount(0)
    try {
      const { texts, count, isCut } = await exported(format, (after) => read(after, signal), setCount)
      save(format, texts)
      setWords(
        `Saved ${number.format(count)} records.${
          isCut
            ? ` A file has ${number.format(mostRecords)} at most, so older ones are missing: export them with “Until”.`
            : ''
        }`,
      )
    } catch (failure) {
      if (signal.aborted) setWords('Stopped. Nothing was saved.')
      else setError(failure)
    } finally {
      setCount(undefined)
    }
  }
  return (
    <div class="export">
      {count === undefined ? (
        <p class="actions">
          <button type="button" class="quiet" onClick={() => void run('jsonl')}>
            Export as JSON lines
          </button>
          <button type="button" class="quiet" onClick={() => void run('csv')}>
            Export as CSV
          </button>
        </p>
      ) : (
        <p class="actions">
          <span>{number.format(count)} records read…</span>
          <button type="button" class="quiet" onClick={() => stopping.current.abort()}>
            Stop
          </button>
        </p>
      )}
      <p class="meta" role="status">
        {words}
      </p>
      <Refusal error={error} />
    </div>
  )
}

function save(format: AuditFormat, texts: readonly string[]): void {
  const address = URL.createObjectURL(new Blob([...texts], { type: types[format] }))
  const link = document.createElement('a')
  link.href = address
  const at = new Date(nodeNow.peek()).toISOString().replace(/[-:]|\.\d+/g, '')
  link.download = `bridge-audit-${at}.${format}`
  link.click()
  // The browser has to begin reading before the address ends.
  setTimeout(() => URL.revokeObjectURL(address), 60_000)
}
