/** A reading that is made again and again while somebody may be looking at the page. */
import { computed, type ReadonlySignal, signal } from '@preact/signals'
import { elapsedMs, type Moment, moment, now } from '../clock.ts'
import { whileAttended } from './attendance.ts'
import { pause } from './pause.ts'

export interface Polled<T> {
  /** The last answer. A failed read keeps it. */
  readonly value: ReadonlySignal<T | undefined>
  /** Failure of the last read. */
  readonly error: ReadonlySignal<unknown>
  /** Milliseconds since the last answer. */
  readonly ageMs: ReadonlySignal<number>
  stop(): void
}

export function polled<T>(read: (signal: AbortSignal) => Promise<T>, everyMs: number): Polled<T> {
  const reading = signal<{ readonly value: T; readonly at: Moment } | undefined>(undefined)
  const error = signal<unknown>(undefined)
  const stopping = new AbortController()
  void whileAttended(stopping.signal, async (signal) => {
    try {
      reading.value = { value: await read(signal), at: moment() }
      now.value = moment()
      error.value = undefined
    } catch (failure) {
      if (!signal.aborted) error.value = failure
    }
    await pause(everyMs, signal)
  })
  return {
    value: computed(() => reading.value?.value),
    error,
    ageMs: computed(() => (reading.value === undefined ? 0 : elapsedMs(reading.value.at, now.value))),
    stop: () => stopping.abort(),
  }
}
