/**
 * Bounds the unanswered requests and unsent bytes of one connection.
 *
 * A client that pipelines requests and reads no answers would otherwise fill the node's memory: Node parses
 * every request that arrived and keeps each answer until the earlier ones have been sent. Beyond either bound
 * the node closes the connection.
 *
 * The node begins a request once it has the answer to the earlier one. A connection that it closes therefore
 * costs no more than the answers that fit, and other clients are served in between. A request for a large
 * answer or a stream begins once the earlier answers have been sent, so a client that pipelines requests for
 * large answers and reads gets every answer.
 *
 * Contract §2 "pipelined or unread answers hold at most 1 MiB per connection, then it is closed".
 */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { limits } from '../../sdk/contract/limits.ts'

interface Connection {
  /** Requests whose answers have not been sent completely. */
  requests: number
  /** Bytes of those answers that have been produced. */
  bytes: number
  /** The answer that is being produced. */
  current: ServerResponse | undefined
  /** Later requests, in the order of their arrival. */
  readonly waiting: Waiting[]
  isClosed: boolean
}

interface Waiting {
  readonly answer: ServerResponse
  /** Whether it waits until the earlier answers have been sent. */
  readonly isLarge: boolean
  readonly begin: () => void
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Such a request closes its connection if an earlier one is unanswered, else it begins like a large one. */
    readonly streamedAnswer?: true
    /** Such a request begins once the earlier answers have been sent: few of its answers would exceed the bound. */
    readonly largeAnswer?: true
  }
}

export const streamedAnswer = { streamedAnswer: true } as const
export const largeAnswer = { largeAnswer: true } as const

const connections = new WeakMap<Socket, Connection>()

function connectionOf(socket: Socket): Connection {
  const known = connections.get(socket)
  if (known !== undefined) return known
  const made: Connection = { requests: 0, bytes: 0, current: undefined, waiting: [], isClosed: false }
  connections.set(socket, made)
  return made
}

export function useUnsentBound(app: FastifyInstance): void {
  app.addHook('onRequest', (request, { raw: answer }, begin) => {
    const { raw } = request
    const connection = connectionOf(raw.socket)
    connection.requests += 1
    answer.on('close', () => {
      connection.requests -= 1
      pass(connection, answer)
    })
    // Fastify builds `routeOptions` at each access, so only a pipelined request pays for it.
    const config = connection.requests > 1 ? request.routeOptions.config : undefined
    const isStreamed = config?.streamedAnswer === true
    if ((isStreamed && isUnanswered(connection)) || connection.requests > limits.pipelinedRequests)
      close(raw.socket, connection)
    // After the close, requests that Node parsed in the same chunk are not processed.
    if (connection.isClosed) return
    const isLarge = isStreamed || config?.largeAnswer === true
    if (connection.current !== undefined || connection.waiting.length > 0 || isLarge) {
      connection.waiting.push({ answer, isLarge, begin: () => raw.socket.destroyed || begin() })
      beginNext(connection)
      return
    }
    connection.current = answer
    begin()
  })
  app.addHook('onSend', ({ raw }, { raw: answer }, payload, done) => {
    const connection = connectionOf(raw.socket)
    const bytes = sizeOf(payload)
    connection.bytes += bytes
    answer.on('close', () => {
      connection.bytes -= bytes
    })
    // A single answer is not closed here: its endpoint bounds its size.
    if (connection.bytes > limits.unsentBytes && connection.requests > 1) close(raw.socket, connection)
    pass(connection, answer)
    done()
  })
}

/**
 * Whether an earlier request has no answer yet. A client may read the end of an answer, and send its next
 * request, before the node learns that the answer was sent.
 */
const isUnanswered = ({ current, waiting }: Connection): boolean =>
  waiting.length > 0 || current?.writableEnded === false

/** Notes that an answer was produced, or closed before that. */
function pass(connection: Connection, answer: ServerResponse): void {
  if (connection.current === answer) connection.current = undefined
  beginNext(connection)
}

/** Begins the next request in a later turn of the event loop, if no other is in progress. */
function beginNext(connection: Connection): void {
  const { current, waiting, requests } = connection
  const [next] = waiting
  if (current !== undefined || next === undefined) return
  const unsent = requests - waiting.length
  if (next.isLarge && unsent > 0) return
  waiting.shift()
  connection.current = next.answer
  setImmediate(next.begin)
}

function close(socket: Socket, connection: Connection): void {
  connection.isClosed = true
  connection.waiting.length = 0
  socket.destroy()
}

const sizeOf = (payload: unknown): number =>
  typeof payload === 'string' || Buffer.isBuffer(payload) ? Buffer.byteLength(payload) : 0
