/** The clocks and the randomness of the page, and a signal that ticks once a second while the page is visible. */
import { signal } from '@preact/signals'

/**
 * One moment on two clocks. The monotonic clock may stop while the machine sleeps; the wall clock may be set.
 */
export interface Moment {
  readonly monotonicMs: number
  readonly wallMs: number
}

export const moment = (): Moment => ({ monotonicMs: performance.now(), wallMs: Date.now() })

/** Milliseconds between two moments: what the clock that ran longer says. */
export const elapsedMs = (from: Moment, to: Moment): number =>
  Math.max(to.monotonicMs - from.monotonicMs, to.wallMs - from.wallMs)

/** Returns an idempotency key that no other request has. */
export const freshKey = (): string => crypto.randomUUID()

export const now = signal(moment())

export function startClock(): void {
  const tick = () => {
    if (document.visibilityState === 'visible') now.value = moment()
  }
  setInterval(tick, 1000)
  document.addEventListener('visibilitychange', tick)
}
