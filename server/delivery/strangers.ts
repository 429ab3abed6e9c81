/** Sockets that have not said whose they are: each costs memory for up to five seconds. */
import type { WebSocket } from 'ws'
import { Fault } from '../fault.ts'

export interface Strangers {
  sockets(): Iterable<WebSocket>
  /** @throws capacity_reached when the node holds as many as it may */
  requireRoom(): void
  /** Takes a place until the socket closes, or until the returned function is called. */
  add(socket: WebSocket): () => void
}

const atOnce = 512

export function createStrangers(): Strangers {
  const strangers = new Set<WebSocket>()
  return {
    sockets: () => strangers,
    requireRoom() {
      if (strangers.size < atOnce) return
      throw new Fault('capacity_reached', { details: { limit: 'sockets' }, retryAfterMs: 5000 })
    },
    add(socket) {
      strangers.add(socket)
      const leave = () => {
        strangers.delete(socket)
      }
      socket.once('close', leave)
      return leave
    },
  }
}
