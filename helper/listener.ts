/**
 * Loopback listener with at most four connections, one file operation at a time, and a deadline.
 *
 * - "The helper listens on 127.0.0.1 over plain HTTP only."
 * - "At most 4 admitted": a fifth connection is closed without a response.
 * - Headers must be complete within 5 s. An idle connection is closed after 5 s. A body must keep its minimum
 *   pace.
 * - At the deadline the listener and all sockets close. A request that can still be answered gets 410.
 *
 * Spec §4.5, §7, §8.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import net, { type AddressInfo, type Socket } from 'node:net'
import { type HelperErrorCode, helperErrors } from '../sdk/contract/helper/errors.ts'
import { transferLimits } from '../sdk/contract/helper/limits.ts'
import { PartError, platformCode } from '../sdk/parts/part-error.ts'
import { runningTime } from '../sdk/parts/running-time.ts'
import { answerJson, beginBytes, refuse, refuseRaw } from './answer.ts'
import { headerOf, objection, type RawRequest, rawRequest } from './gate.ts'
import { type Matched, match, requireFitting } from './routes.ts'
import { StartError } from './start-failure.ts'
import type { TokenCheck } from './token.ts'
import type { Transfer } from './transfer.ts'

export const host = '127.0.0.1'

/** Longest time after the deadline until the last responses begin. */
const answerMs = 2000
/** Time for the last responses to arrive. */
const graceMs = 100

interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Resolves when the response has ended, or its last bytes wait for the client. */
  readonly served: Promise<void>
}

const { connections, headerBytes, headerSeconds, idleSeconds } = transferLimits

export class Listener {
  readonly #transfer: Transfer
  readonly #token: TokenCheck
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  /** Sockets with a response in flight. */
  readonly #answering = new Map<Socket, Exchange>()
  /** Sockets that sent bytes that are not a valid request. */
  readonly #unreadable = new WeakSet<Socket>()
  /** Sockets to which the refusal of invalid bytes was sent. No other response may follow. */
  readonly #refused = new WeakSet<Socket>()
  readonly #ending = new AbortController()
  /** The running file operation. */
  #operation: object | undefined

  constructor(transfer: Transfer, token: TokenCheck) {
    this.#transfer = transfer
    this.#token = token
    this.#server = createServer({
      maxHeaderSize: headerBytes,
      headersTimeout: headerSeconds * 1000,
      requestTimeout: 0,
      keepAliveTimeout: idleSeconds * 1000,
      connectionsCheckingInterval: 1000,
      // The gate checks the Host header and refuses with our body.
      requireHostHeader: false,
      noDelay: true,
    })
    this.#server.maxConnections = connections
    // With a limit here, the parser would drop further headers silently. The byte limit applies instead.
    this.#server.maxHeadersCount = 0
    const onRequest = (request: IncomingMessage, response: ServerResponse) =>
      void this.#serve(request, response)
    this.#server
      .on('request', onRequest)
      .on('checkContinue', onRequest)
      .on('checkExpectation', onRequest)
      .on('connection', (socket: Socket) => this.#admit(socket))
      .on('clientError', (error: Error, socket: Socket) => this.#refuseBytes(error, socket))
  }

  /** @returns the port. @throws StartError `port_in_use`, `port_refused` */
  listen(port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', (cause) => {
        const isTaken = platformCode(cause) === 'EADDRINUSE'
        reject(new StartError(isTaken ? 'port_in_use' : 'port_refused', { cause }))
      })
      this.#server.once('listening', () => resolve((this.#server.address() as AddressInfo).port))
      try {
        // A BoundSocket skips the lookup that `listen({ host })` does even for an address, the slowest step of
        // the start.
        if (net.BoundSocket === undefined) this.#server.listen({ host, port, exclusive: true })
        else this.#server.listen(new net.BoundSocket({ host, port }))
      } catch (error) {
        this.#server.emit('error', error)
      }
    })
  }

  /**
   * Closes everything and resolves when no socket is open. Requests that can still be answered get `reason`.
   */
  async stop(reason?: PartError): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    this.#ending.abort(reason ?? new PartError('expired'))
    for (const socket of this.#sockets) if (!this.#answering.has(socket)) socket.destroy()
    const unanswered = [...this.#answering.values()].filter(({ response }) => !response.headersSent)
    await within(answerMs, Promise.all(unanswered.map(({ served }) => served)))
    await within(graceMs, closed)
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }

  #admit(socket: Socket): void {
    this.#sockets.add(socket)
    socket.once('close', () => this.#sockets.delete(socket))
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { socket } = request
    const { promise: served, resolve } = Promise.withResolvers<void>()
    const exchange = { request, response, served }
    this.#answering.set(socket, exchange)
    response.once('close', () => {
      if (this.#answering.get(socket) === exchange) this.#answering.delete(socket)
    })
    response.on('error', () => {})
    const raw = rawRequest(request)
    try {
      const matched = await this.#admitted(raw)
      if (matched.route.isFileOperation) await this.#operate(matched, request, response)
      else await this.#answer(matched, request, response, () => {})
    } catch (error) {
      if (!this.#refused.has(socket)) refuse(request, response, error)
    } finally {
      resolve()
    }
  }

  /** Checks everything that is known before a body is read. @throws PartError */
  async #admitted(raw: RawRequest): Promise<Matched> {
    const code = objection(raw)
    if (code !== undefined) throw new PartError(code)
    const matched = match(raw)
    if (!(await this.#token.admits(headerOf(raw, 'authorization')))) throw new PartError('invalid_token')
    if (this.#transfer.isOver) throw new PartError('expired')
    requireFitting(matched, raw, this.#transfer)
    return matched
  }

  /** Runs a file operation: "one file operation at a time". */
  async #operate(matched: Matched, request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.#operation !== undefined) throw new PartError('transfer_busy')
    const operation = {}
    this.#operation = operation
    const release = (): void => {
      if (this.#operation === operation) this.#operation = undefined
    }
    try {
      await this.#answer(matched, request, response, release)
    } finally {
      release()
    }
  }

  /**
   * Answers. Calls `release` before the client can know the outcome, so that its next request is not refused
   * as busy.
   */
  async #answer(
    { route, index }: Matched,
    request: IncomingMessage,
    response: ServerResponse,
    release: () => void,
  ): Promise<void> {
    if (route.body === 'part' && request.headers.expect !== undefined) response.writeContinue()
    const call = { transfer: this.#transfer, index, request, signal: this.#ending.signal }
    const answer = await route.run(call)
    if ('json' in answer) {
      release()
      return answerJson(response, answer.json)
    }
    await this.#transfer.requireSource()
    this.#ending.signal.throwIfAborted()
    beginBytes(response, answer.bytes.size, answer.sha256)
    await this.#transfer.send(answer.bytes, response, release)
    response.end()
  }

  /**
   * Handles bytes that the parser refused, or headers that were not complete in time.
   *
   * If the bytes follow a complete request whose response is in flight, that response is finished and the
   * connection is then closed. If they are part of a request's body, the refusal is the response.
   */
  #refuseBytes(error: Error, socket: Socket): void {
    if (this.#unreadable.has(socket)) return
    this.#unreadable.add(socket)
    const { request, response } = this.#answering.get(socket) ?? {}
    if (request?.complete && !response?.writableFinished) {
      response?.once('finish', () => socket.destroySoon())
      return
    }
    this.#refused.add(socket)
    if (response?.headersSent) {
      socket.destroySoon()
      return
    }
    if (!socket.writable || platformCode(error) === 'ECONNRESET') {
      socket.destroy()
      return
    }
    const code = parserCodes[platformCode(error)] ?? 'bad_request'
    refuseRaw(socket, code, STATUS_CODES[helperErrors[code].status] ?? 'Error')
  }
}

/** Waits for the promise, at most this time. */
async function within(ms: number, promise: Promise<unknown>): Promise<void> {
  const timer = new AbortController()
  await Promise.race([promise, runningTime(ms, timer.signal).catch(() => {})])
  timer.abort()
}

const parserCodes: Readonly<Record<string, HelperErrorCode>> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'too_slow',
}
