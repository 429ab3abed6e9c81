/**
 * Waiting for the next commit, for what is read again whenever something was stored.
 *
 * Many commits in a row are one reason to read, and a commit of another process is found by the recheck.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { limits } from '../../sdk/contract/limits.ts'
import type { Context } from '../context.ts'

/** Between two reads of one waiter, however busy the node is. */
const restMs = 50

export interface CommitBell {
  /** Resolves with true when it is time to read again, with false when the wait is over. */
  next(): Promise<boolean>
  close(): void
}

export function commitBell(context: Context, waitMs: number, gone: AbortSignal): CommitBell {
  const deadline = context.monotonicMs() + waitMs
  const over = AbortSignal.any([gone, context.stopping])
  let rung = false
  let wake = () => {}
  const unsubscribe = context.commits.subscribe(() => {
    rung = true
    wake()
  })

  const waitForRing = (ms: number) =>
    new Promise<void>((resolve) => {
      const end = () => {
        clearTimeout(timer)
        over.removeEventListener('abort', end)
        resolve()
      }
      const timer = setTimeout(end, ms)
      over.addEventListener('abort', end, { once: true })
      wake = end
    })

  return {
    async next() {
      const left = deadline - context.monotonicMs()
      if (left <= 0 || over.aborted) return false
      if (!rung) await waitForRing(Math.min(left, limits.recheckSeconds * 1000))
      // Aborted: then there is nothing to rest for, and the next call says so.
      await pause(restMs, undefined, { signal: over }).catch(() => {})
      rung = false
      return !over.aborted
    },
    close: unsubscribe,
  }
}
