/** Waits of a request that end by a wake-up, by time, when the client has gone, or when the server stops. Contract §6. */
import type { FastifyRequest } from 'fastify'
import { limits } from '../../sdk/contract/limits.ts'
import type { Context } from '../context.ts'
import { hasLeft, onLeaving } from '../http/client-left.ts'

export interface NoticeWait {
  hasEnded(): boolean
  /** Whether there was a notice since the last `ring` ended, or since `hush`. */
  hasNotice(): boolean
  clearNotice(): void
  /** Resolves at a notice, after the time, or when the wait is over. */
  next(ms: number): Promise<void>
  close(): void
}

export function openNoticeWait(context: Context, agentId: string, request: FastifyRequest): NoticeWait {
  let rung = false
  let over = context.stopping.aborted || hasLeft(request)
  let wake: (() => void) | undefined
  const ring = () => {
    rung = true
    wake?.()
  }
  const end = () => {
    over = true
    wake?.()
  }
  const unsubscribe = context.wakeups.subscribe(agentId, ring)
  const stay = onLeaving(request, end)
  // Not the signal itself: it looks through all of its listeners to add or remove one, and thousands wait.
  const leave = context.streams.add({ tick() {}, stop: end })
  return {
    hasEnded: () => over,
    hasNotice: () => rung,
    clearNotice() {
      rung = false
    },
    async next(ms: number) {
      if (!rung && !over) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, Math.min(ms, limits.inboxWaitSeconds * 1000))
          wake = () => {
            clearTimeout(timer)
            resolve()
          }
        })
      }
      rung = false
      wake = undefined
    },
    close() {
      unsubscribe()
      stay()
      leave()
    },
  }
}
