/**
 * The loopback listener: at most four connections, one file operation at a time, and an end.
 *
 * - "The helper listens on 127.0.0.1 over plain HTTP only."
 * - "At most 4 admitted": a fifth connection is closed without an answer.
 * - Headers are complete within 5 s, an idle connection ends after 5 s, a body keeps its pace.
 * - At the deadline listener and sockets close; what can still be answered is answered 410.
 *
 * Spec §4.5, §7, §8.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import net, { type AddressInfo, type Socket } from 'node:net'
import { type HelperErrorCode, helperErrors } from '../sdk/contract/helper/errors.ts'
import { transferLimits } from '../sdk/contract/helper/limits.ts'
import { PartError, platformCode } from '../sdk/parts/part-error.ts'
import { answerJson, beginBytes, refuse, refuseRaw } from './answer.ts'
import { headerOf, objection, type RawRequest, rawRequest } from './gate.ts'
import { type Matched, match, requireFitting } from './routes.ts'
import { StartError } from './start-failure.ts'
import type { TokenCheck } from './token.ts'
import type { Transfer } from './transfer.ts'

export const host = '127.0.0.1'

/** What can still be answered at the end has so long to leave. */
const graceMs = 100

interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

const { connections, headerBytes, headerSeconds, idleSeconds } = transferLimits

export class Listener {
  readonly #transfer: Transfer
  readonly #token: TokenCheck
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  /** Sockets on which an answer is under way. */
  readonly #answering = new Map<Socket, Exchange>()
  /** Sockets whose bytes were no request. */
  readonly #unreadable = new WeakSet<Socket>()
  /** The unreadable sockets on which the refusal of the bytes takes the place of every answer. */
  readonly #refused = new WeakSet<Socket>()
  readonly #ending = new AbortController()
  /** The file operation that runs. */
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
      // The gate judges it, with a body of ours.
      requireHostHeader: false,
      noDelay: true,
    })
    this.#server.maxConnections = connections
    // With a bound the parser drops the headers beyond it in silence; the byte cap holds.
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
        if (net.BoundSocket === undefined) this.#server.listen({ host, port, exclusive: true })
        // A name is looked up even when it is an address, which takes longer than all else of a start.
        else this.#server.listen(new net.BoundSocket({ host, port }))
      } catch (error) {
        this.#server.emit('error', error)
      }
    })
  }

  /** Ends everything; resolves when no socket is left. With a reason, what can still be answered gets it. */
  async stop(reason?: PartError): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    this.#ending.abort(reason ?? new PartError('expired'))
    for (const socket of this.#sockets) if (!this.#answering.has(socket)) socket.destroy()
    const timer = setTimeout(() => {
      for (const socket of this.#sockets) socket.destroy()
    }, graceMs)
    await closed
    clearTimeout(timer)
  }

  #admit(socket: Socket): void {
    this.#sockets.add(socket)
    socket.once('close', () => this.#sockets.delete(socket))
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { socket } = request
    const exchange = { request, response }
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
    }
  }

  /** Everything that is known before a body is read. @throws PartError */
  async #admitted(raw: RawRequest): Promise<Matched> {
    const code = objection(raw)
    if (code !== undefined) throw new PartError(code)
    const matched = match(raw)
    if (!(await this.#token.admits(headerOf(raw, 'authorization')))) throw new PartError('invalid_token')
    if (this.#transfer.isOver) throw new PartError('expired')
    requireFitting(matched, raw, this.#transfer)
    return matched
  }

  /** "one file operation at a time" */
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

  /** `release` is called before the client can know the outcome, so that its next request finds the way free. */
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
    beginBytes(response, answer.bytes.size, answer.sha256)
    await this.#transfer.send(answer.bytes, response, release)
    response.end()
  }

  /**
   * Bytes that the parser refused, or headers that never ended.
   *
   * If they follow a whole request whose answer is under way, that answer leaves and the connection ends behind it. If
   * they are the body of a request, their refusal is the answer.
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

const parserCodes: Readonly<Record<string, HelperErrorCode>> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'too_slow',
}
