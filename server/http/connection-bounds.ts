/**
 * Bounds what one connection may have unanswered and unsent.
 *
 * A client that pipelines requests and reads no answer would otherwise fill the node's memory: Node parses every request
 * that arrived and keeps every answer until those before it have left. Past either bound the node closes the connection.
 *
 * Contract §2 "pipelined or unread answers hold at most 1 MiB per connection, then it is closed".
 */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { limits } from '../../sdk/contract/limits.ts'

interface Connection {
  /** Requests whose answers have not left whole. */
  requests: number
  /** Bytes of those answers that exist. */
  bytes: number
  isClosed: boolean
}

const connections = new WeakMap<Socket, Connection>()

export function useUnsentBound(app: FastifyInstance): void {
  app.addHook('onRequest', ({ raw }, reply, done) => {
    const connection = connections.get(raw.socket) ?? { requests: 0, bytes: 0, isClosed: false }
    connections.set(raw.socket, connection)
    connection.requests += 1
    reply.raw.on('close', () => {
      connection.requests -= 1
    })
    if (connection.requests > limits.pipelinedRequests) close(raw.socket, connection)
    // Requests that were parsed together with the one that went too far cost nothing more.
    if (!connection.isClosed) done()
  })
  app.addHook('onSend', ({ raw }, reply, payload, done) => {
    const connection = connections.get(raw.socket)
    const bytes = sizeOf(payload)
    if (connection !== undefined && bytes > 0) {
      connection.bytes += bytes
      reply.raw.on('close', () => {
        connection.bytes -= bytes
      })
      // A single answer is bounded by its endpoint.
      if (connection.bytes > limits.unsentBytes && connection.requests > 1) close(raw.socket, connection)
    }
    done()
  })
}

/**
 * Closes the connection of a stream that was requested behind other requests: its bytes would wait in memory until the
 * answers before it have left. Returns whether the connection is still open.
 */
export function requireFirst({ socket }: IncomingMessage): boolean {
  const connection = connections.get(socket)
  if (connection === undefined || connection.requests <= 1) return true
  close(socket, connection)
  return false
}

function close(socket: Socket, connection: Connection): void {
  connection.isClosed = true
  socket.destroy()
}

const sizeOf = (payload: unknown): number =>
  typeof payload === 'string' || Buffer.isBuffer(payload) ? Buffer.byteLength(payload) : 0
