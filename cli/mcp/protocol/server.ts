/**
 * Server of the Model Context Protocol for one process: it answers requests with the tools that it is given.
 *
 * - Requests run at the same time. The response of a cancelled request is never sent.
 * - At most 64 requests are in flight; a further one is refused.
 * - It sends no requests, and no notifications other than the acknowledgement of a subscription.
 *
 * Its only state is whether the client called `initialize`, which a legacy client has to do first.
 */
import { startOf } from '../../../sdk/plain-text.ts'
import {
  errorResponse,
  isId,
  isObject,
  isRequest,
  type Notification,
  type Params,
  parseMessage,
  type Request,
  type RequestId,
  RpcError,
} from './json-rpc.ts'
import type { Line } from './lines.ts'
import { lineBytes } from './lines.ts'
import * as revisions from './revisions.ts'

/** The content of a tool call for the model. */
export interface ToolResult {
  readonly content: readonly { readonly type: 'text'; readonly text: string }[]
  readonly isError?: true
}

export interface ServerParts {
  readonly serverInfo: { readonly name: string; readonly version: string }
  readonly instructions: string
  readonly tools: readonly { readonly name: string }[]
  /** Calls a tool that exists. Never rejects: a failure is a result with `isError`. */
  call(name: string, given: Params, signal: AbortSignal): Promise<ToolResult>
  /** Sends one JSON-RPC message. */
  send(message: object): void
}

const mostInFlight = 64
/** A client may keep the list of tools for an hour; it never changes while the process runs. */
const cacheable = { ttlMs: 3_600_000, cacheScope: 'public' } as const
const capabilities = { tools: {} } as const

interface InFlight {
  readonly abort: AbortController
  readonly isSubscription: boolean
}

export class McpServer {
  readonly #parts: ServerParts
  readonly #inFlight = new Map<RequestId, InFlight>()
  readonly #running = new Set<Promise<void>>()
  #isInitialized = false

  constructor(parts: ServerParts) {
    this.#parts = parts
  }

  /** Handles one line of the client. */
  receive(line: Line): void {
    try {
      const message = parseMessage(readable(line))
      if (message === undefined) return
      if (!isRequest(message)) this.#notice(message)
      else if (this.#inFlight.has(message.id))
        throw new RpcError('invalidRequest', `the id ${JSON.stringify(message.id)} is in use`)
      else this.#begin(message)
    } catch (error) {
      this.#refuse(error)
    }
  }

  /** Aborts all requests. Resolves when they have ended. */
  async close(): Promise<void> {
    for (const [id, { abort, isSubscription }] of this.#inFlight) {
      if (isSubscription) this.#respond(id, { _meta: { [revisions.subscriptionKey]: id } }, true)
      abort.abort()
    }
    this.#inFlight.clear()
    await Promise.all(this.#running)
  }

  #notice({ method, params: { requestId } }: Notification): void {
    if (method !== 'notifications/cancelled' || !isId(requestId)) return
    this.#inFlight.get(requestId)?.abort.abort()
    this.#inFlight.delete(requestId)
  }

  #begin({ id, method, params }: Request): void {
    try {
      const isModern = method !== 'initialize' && this.#isModern(method, params)
      if (isModern) revisions.requireModern(params)
      if (method === 'tools/call' || (isModern && method === 'subscriptions/listen')) {
        this.#hold(id, method === 'tools/call' ? this.#toolCall(params) : subscription(params), isModern)
      } else this.#respond(id, this.#resultOf(method, params, isModern), isModern)
    } catch (error) {
      this.#refuse(error, id)
    }
  }

  /**
   * A request that names no version is legacy after `initialize`. Before, it is a modern one that lacks its
   * `_meta`, except a ping.
   */
  #isModern(method: string, params: Params): boolean {
    if (revisions.isModern(params) || method === 'server/discover') return true
    return !this.#isInitialized && method !== 'ping'
  }

  #resultOf(method: string, params: Params, isModern: boolean): object {
    const { serverInfo, instructions, tools } = this.#parts
    switch (method) {
      case 'initialize': {
        const protocolVersion = revisions.negotiated(params)
        this.#isInitialized = true
        return { protocolVersion, capabilities, serverInfo, instructions }
      }
      case 'server/discover':
        return { supportedVersions: [revisions.modernVersion], capabilities, instructions, ...cacheable }
      case 'tools/list':
        if (params.cursor !== undefined)
          throw new RpcError('invalidParams', 'the list has one page, without a cursor')
        return { tools, ...(isModern && cacheable) }
      case 'ping':
        if (!isModern) return {}
    }
    throw new RpcError('methodNotFound', `Method not found: ${startOf(method, 100)}`)
  }

  /** Checks a tool call, and returns the function that runs it. */
  #toolCall({ name, arguments: given = {} }: Params) {
    if (typeof name !== 'string') throw new RpcError('invalidParams', '"name" must be a string')
    if (!this.#parts.tools.some((tool) => tool.name === name))
      throw new RpcError('invalidParams', `Unknown tool: ${startOf(name, 100)}`)
    if (!isObject(given)) throw new RpcError('invalidParams', '"arguments" must be an object')
    return (signal: AbortSignal) => this.#parts.call(name, given, signal)
  }

  /** Runs a request that takes time. A subscription has no work: it stays open until it is cancelled. */
  #hold(
    id: RequestId,
    work: ((signal: AbortSignal) => Promise<ToolResult>) | undefined,
    isModern: boolean,
  ): void {
    if (this.#inFlight.size >= mostInFlight)
      throw new RpcError('internalError', `${mostInFlight} requests are in flight; wait for one of them`)
    const abort = new AbortController()
    this.#inFlight.set(id, { abort, isSubscription: work === undefined })
    if (work === undefined) {
      const params = { _meta: { [revisions.subscriptionKey]: id }, notifications: {} }
      this.#parts.send({ jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged', params })
      return
    }
    const running: Promise<void> = work(abort.signal)
      .then((result) => {
        if (abort.signal.aborted) return
        this.#inFlight.delete(id)
        this.#respond(id, result, isModern)
      })
      .finally(() => this.#running.delete(running))
    this.#running.add(running)
  }

  #respond(id: RequestId, result: object, isModern: boolean): void {
    const { _meta: meta } = result as { readonly _meta?: object }
    const { serverInfo, send } = this.#parts
    const identified = { ...meta, [revisions.serverInfoKey]: serverInfo }
    const more = isModern ? { resultType: 'complete', _meta: identified } : {}
    send({ jsonrpc: '2.0', id, result: { ...result, ...more } })
  }

  #refuse(error: unknown, id?: RequestId): void {
    if (!(error instanceof RpcError)) throw error
    const refusal = errorResponse(error)
    this.#parts.send(id === undefined ? refusal : { ...refusal, id })
  }
}

/** Checks the filter of a subscription. The server offers no type of notification, so there is nothing to run. */
function subscription({ notifications }: Params): undefined {
  if (!isObject(notifications)) throw new RpcError('invalidParams', '"notifications" must be an object')
}

function readable(line: Line): string {
  if ('text' in line) return line.text
  if (line.fault === 'not UTF-8') throw new RpcError('parseError', 'Parse error: the line is not UTF-8')
  throw new RpcError('invalidRequest', `the line is longer than ${lineBytes} bytes`)
}
