/**
 * Waits for the next commit, for readers that read again after each one.
 *
 * Several commits in quick succession cause one read. A commit of another process causes no notice; the
 * reader finds it because it reads at least every two seconds.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { limits } from '../../sdk/contract/limits.ts'
import type { Context } from '../context.ts'

/** Minimum delay between two reads of one waiter, however many commits there are. */
const minIntervalMs = 50

export interface CommitWait {
  /** Resolves with true when it is time to read again, and with false when the wait has ended. */
  next(): Promise<boolean>
  close(): void
}

export function openCommitWait(context: Context, waitMs: number, disconnected: AbortSignal): CommitWait {
  const deadline = context.monotonicMs() + waitMs
  const ended = AbortSignal.any([disconnected, context.stopping])
  let noticed = false
  let wake = () => {}
  const unsubscribe = context.commits.subscribe(() => {
    noticed = true
    wake()
  })

  const waitForNotice = (ms: number) =>
    new Promise<void>((resolve) => {
      const end = () => {
        clearTimeout(timer)
        ended.removeEventListener('abort', end)
        resolve()
      }
      const timer = setTimeout(end, ms)
      ended.addEventListener('abort', end, { once: true })
      wake = end
    })

  return {
    async next() {
      const left = deadline - context.monotonicMs()
      if (left <= 0 || ended.aborted) return false
      if (!noticed) await waitForNotice(Math.min(left, limits.recheckSeconds * 1000))
      // If the wait has ended meanwhile, this rejects immediately and the result is false.
      await pause(minIntervalMs, undefined, { signal: ended }).catch(() => {})
      noticed = false
      return !ended.aborted
    },
    close: unsubscribe,
  }
}
