/**
 * Bounds sockets that have not authenticated. Each uses a slot for at most five seconds. The number of slots
 * is limited for the node, and per address, so that one host cannot take all of them.
 *
 * "Unauthenticated sockets: 512 a node, 32 an address, each at most 5 s." Contract §6.
 */
import type { WebSocket } from 'ws'
import { limits } from '../../sdk/contract/limits.ts'
import { ApiError } from '../api-error.ts'
import { networkOf } from '../identity/network.ts'

export interface UnauthenticatedSockets {
  sockets(): Iterable<WebSocket>
  /** @throws capacity_reached if all slots of the address or the node are in use */
  requireRoom(address: string): void
  /** Takes a slot until the socket closes or its slot is freed. */
  add(socket: WebSocket, address: string): Slot
}

export interface Slot {
  /** The socket has authenticated. */
  readonly release: () => void
  /** The socket is being closed. It may outlast its slot, because its client has a second to answer. */
  readonly free: () => void
}

export function createUnauthenticatedSockets(): UnauthenticatedSockets {
  const open = new Set<WebSocket>()
  const held = new Map<string, number>()
  let used = 0

  return {
    sockets: () => open,
    requireRoom(address) {
      if ((held.get(networkOf(address)) ?? 0) >= limits.strangerSocketsPerAddress) {
        throw full('This address has too many sockets that have not authenticated.')
      }
      if (used >= limits.strangerSockets) {
        throw full('The node holds too many sockets that have not authenticated.')
      }
    },
    add(socket, address) {
      const network = networkOf(address)
      open.add(socket)
      used += 1
      held.set(network, (held.get(network) ?? 0) + 1)
      let isHeld = true
      const free = () => {
        if (!isHeld) return
        isHeld = false
        used -= 1
        const left = (held.get(network) ?? 1) - 1
        if (left === 0) held.delete(network)
        else held.set(network, left)
      }
      const release = () => {
        open.delete(socket)
        free()
      }
      socket.once('close', release)
      return { release, free }
    },
  }
}

/** After this time the slot of each silent socket is free again. */
const retryAfterMs = limits.socketAuthSeconds * 1000

const full = (message: string): ApiError =>
  new ApiError('capacity_reached', { message, details: { limit: 'sockets' }, retryAfterMs })
