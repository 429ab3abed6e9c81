/**
 * What the two streams share with every call of an agent: a session, a fresh proof at each opening, and the refusals that
 * are mended once. See agent-authority.ts.
 *
 * Spec §5 "WebSocket": "using the signed headers for GET /api/v1/events".
 */

import type { SessionKeeper } from '../agent/session.ts'
import { streams } from '../contract/agent/streams.ts'
import { nameOf, targetOf } from '../transport/address.ts'
import type { FetchResponse } from '../transport/fetch.ts'
import { type CallOptions, type PreparedRequest, prepare, type Transport } from '../transport/http.ts'

const events: PreparedRequest = prepare(streams.events, {}, undefined)

export class Streaming {
  readonly #transport: Transport
  readonly #keeper: SessionKeeper

  constructor(transport: Transport, keeper: SessionKeeper) {
    this.#transport = transport
    this.#keeper = keeper
  }

  get socketUrl(): string {
    const { origin, prefix } = this.#transport.address
    return `${origin.replace(/^http/, 'ws')}${prefix}${targetOf(streams.socket.path)}`
  }

  /** The address of the node, for words. */
  get at(): string {
    return nameOf(this.#transport.address)
  }

  get userAgent(): string {
    return this.#transport.userAgent
  }

  /** A session is there: to be seen to before the five seconds begin in which a socket must authenticate. */
  ready(options: CallOptions): Promise<void> {
    return this.#keeper.ready(options)
  }

  /** The headers of the first frame of a socket, signed now; names in lower case. */
  async credentials(): Promise<Record<string, string>> {
    const headers = await this.#transport.authorize(events)
    return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
  }

  /** The event stream, unread. @throws BridgeError, LocalError as a call does. */
  open(options: CallOptions): Promise<FetchResponse> {
    return this.mending(options, async () => {
      await this.#keeper.ready(options)
      return this.#transport.open(events, 'text/event-stream', options)
    })
  }

  /** Open, and again at once for each refusal that could be mended. */
  async mending<T>(options: CallOptions, open: () => Promise<T>): Promise<T> {
    const mended = new Set<string>()
    for (;;) {
      try {
        return await open()
      } catch (failure) {
        if (!(await this.#transport.mend(failure, events, mended, options))) throw failure
      }
    }
  }
}
