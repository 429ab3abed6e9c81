/** Time limits for work whose result may have arrived while the process stood still. */
import { setTimeout as pause } from 'node:timers/promises'

const stepMs = 100

/**
 * Resolves after this time. Standing still counts as one step, because a timer that is due runs before what has
 * arrived meanwhile is read. Rejects if `signal` aborts.
 */
export async function runningTime(ms: number, signal: AbortSignal): Promise<void> {
  for (let leftMs = ms; leftMs > 0; leftMs -= stepMs)
    await pause(Math.min(leftMs, stepMs), undefined, { ref: false, signal })
}
