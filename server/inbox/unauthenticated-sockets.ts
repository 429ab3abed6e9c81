/**
 * Sockets that have not said whose they are: bounded for the node, so that none of them costs more than a place for five
 * seconds, and for each address, so that one host never takes the places of all others.
 *
 * "Unauthenticated sockets: 512 a node, 32 an address, each at most 5 s." Contract §6.
 */
import type { WebSocket } from 'ws'
import { limits } from '../../sdk/contract/limits.ts'
import { ApiError } from '../api-error.ts'
import { networkOf } from '../identity/network.ts'

export interface UnauthenticatedSockets {
  sockets(): Iterable<WebSocket>
  /** @throws capacity_reached when the address, or the node, holds as many as it may */
  requireRoom(address: string): void
  /** Takes a place until the socket closes, or until the returned function is called. */
  add(socket: WebSocket, address: string): () => void
}

export function createUnauthenticatedSockets(): UnauthenticatedSockets {
  const networks = new Map<WebSocket, string>()
  const held = new Map<string, number>()

  return {
    sockets: () => networks.keys(),
    requireRoom(address) {
      if ((held.get(networkOf(address)) ?? 0) >= limits.strangerSocketsPerAddress) {
        throw full('This address has too many sockets that have not authenticated.')
      }
      if (networks.size >= limits.strangerSockets) {
        throw full('The node holds too many sockets that have not authenticated.')
      }
    },
    add(socket, address) {
      const network = networkOf(address)
      networks.set(socket, network)
      held.set(network, (held.get(network) ?? 0) + 1)
      const leave = () => {
        if (!networks.delete(socket)) return
        const left = (held.get(network) ?? 1) - 1
        if (left === 0) held.delete(network)
        else held.set(network, left)
      }
      socket.once('close', leave)
      return leave
    },
  }
}

/** By then each of them has authenticated or is closed. */
const retryAfterMs = limits.socketAuthSeconds * 1000

const full = (message: string): ApiError =>
  new ApiError('capacity_reached', { message, details: { limit: 'sockets' }, retryAfterMs })
