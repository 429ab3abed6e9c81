/**
 * Bounds the unanswered requests and unsent bytes of one connection.
 *
 * A client that pipelines requests and reads no answers would otherwise fill the node's memory: Node parses
 * every request that arrived and keeps each answer until the earlier ones have been sent. Beyond either bound
 * the node closes the connection.
 *
 * Contract §2 "pipelined or unread answers hold at most 1 MiB per connection, then it is closed".
 */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { limits } from '../../sdk/contract/limits.ts'

interface Connection {
  /** Requests whose answers have not been sent completely. */
  requests: number
  /** Bytes of those answers that have been produced. */
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
    // After the close, requests that Node parsed in the same chunk are not processed.
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
      // A single answer is not closed here: its endpoint bounds its size.
      if (connection.bytes > limits.unsentBytes && connection.requests > 1) close(raw.socket, connection)
    }
    done()
  })
}

/**
 * Closes the connection of a stream that was requested behind unanswered requests, because its bytes would
 * wait in memory until the earlier answers are sent. Returns whether the connection is still open.
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
