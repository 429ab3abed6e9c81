/** Counts the records that came after those on the screen. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { ReadPage } from '../../../../../sdk/audit-export.ts'
import { useAttended, whileAttended } from '../../live/attendance.ts'
import { pause } from '../../live/pause.ts'

/** The audit of the node announces nothing, so the screen asks for what is new. */
const everyMs = 10_000

interface Asking {
  /** Changes with the filters. */
  readonly name: string
  /** Newest record on the screen. Undefined before the first answer, null if the list is empty. */
  readonly newest: string | null | undefined
  /** Newest record of the project. Undefined for the audit of the node. */
  readonly latest?: string | undefined
  /** Reads the records after one, oldest first. */
  readonly read: (after: string | undefined, signal: AbortSignal) => Promise<ReadPage>
}

/**
 * Returns the text of the count: empty, `4`, or `100+`. A count holds until the next one, and for the records on the
 * screen that it was asked for.
 */
export function useNewRecords({ name, newest, latest: told, read }: Asking): string {
  const latest = useAttended(told)
  const of = `${name} ${newest}`
  const counted = useSignal({ of, text: '' })
  useEffect(() => {
    if (newest === undefined) return
    const stopping = new AbortController()
    const look = async (signal: AbortSignal) => {
      const { audit, has_more } = await read(newest ?? undefined, signal)
      counted.value = { of, text: audit.length === 0 ? '' : `${audit.length}${has_more ? '+' : ''}` }
    }
    // The next look makes up for a failed one.
    const quietly = (signal: AbortSignal) => look(signal).catch(() => undefined)
    if (latest !== undefined) void (latest === newest || quietly(stopping.signal))
    else
      void whileAttended(stopping.signal, async (signal) => {
        await quietly(signal)
        await pause(everyMs, signal)
      })
    return () => stopping.abort()
  }, [name, newest, latest])
  return counted.value.of === of ? counted.value.text : ''
}
