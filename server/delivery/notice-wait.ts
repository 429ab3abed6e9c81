/**
 * A wait of a request. It ends at a wake-up, after its time, when the client disconnects, or when the server
 * stops. Contract §6.
 */
import type { FastifyRequest } from 'fastify'
import { limits } from '../../sdk/contract/limits.ts'
import { hasLeft, onLeaving } from '../http/client-left.ts'
import type { Streams } from './streams.ts'
import type { Wakeups } from './wakeups.ts'

export interface NoticeWait {
  hasEnded(): boolean
  /** Whether there was a notice since the last `next` returned or since the last `clearNotice`. */
  hasNotice(): boolean
  clearNotice(): void
  /** Resolves at a notice, after the time, or when the wait has ended. */
  next(ms: number): Promise<void>
  close(): void
}

/** The services of the server that a wait needs. */
export interface WaitServices {
  readonly stopping: AbortSignal
  readonly wakeups: Pick<Wakeups, 'subscribe'>
  readonly streams: Pick<Streams, 'add'>
}

export function openNoticeWait(context: WaitServices, agentId: string, request: FastifyRequest): NoticeWait {
  let noticed = false
  let ended = context.stopping.aborted || hasLeft(request)
  let wake: (() => void) | undefined
  const onNotice = () => {
    noticed = true
    wake?.()
  }
  const end = () => {
    ended = true
    wake?.()
  }
  const unsubscribe = context.wakeups.subscribe(agentId, onNotice)
  const stopWatching = onLeaving(request, end)
  // Registers with `streams` instead of listening to the `stopping` signal: adding or removing a listener
  // takes time proportional to their number, and there may be thousands of waits.
  const removeStream = context.streams.add({ tick() {}, stop: end })
  return {
    hasEnded: () => ended,
    hasNotice: () => noticed,
    clearNotice() {
      noticed = false
    },
    async next(ms: number) {
      if (!noticed && !ended) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, Math.min(ms, limits.inboxWaitSeconds * 1000))
          wake = () => {
            clearTimeout(timer)
            resolve()
          }
        })
      }
      noticed = false
      wake = undefined
    },
    close() {
      unsubscribe()
      stopWatching()
      removeStream()
    },
  }
}
