/** Waits of a request that end by a wake-up, by time, when the client has gone, or when the server stops. Contract §6. */
import type { FastifyRequest } from 'fastify'
import { limits } from '../../sdk/contract/limits.ts'
import type { Context } from '../context.ts'

export function ringable(context: Context, agentId: string, request: FastifyRequest) {
  let rung = false
  let over = context.stopping.aborted
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
  request.raw.socket.once('close', end)
  context.stopping.addEventListener('abort', end)
  return {
    isOver: () => over,
    isRung: () => rung,
    hush() {
      rung = false
    },
    async ring(ms: number) {
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
      request.raw.socket.off('close', end)
      context.stopping.removeEventListener('abort', end)
    },
  }
}
