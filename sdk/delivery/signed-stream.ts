/**
 * Session, signature and remedies for the two streams. Each connection is signed anew. A refusal with a
 * remedy, such as a wrong clock, is remedied once and the connection is opened again. See agent/authority.ts.
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

  /** Address of the node, for messages. */
  get at(): string {
    return nameOf(this.#transport.address)
  }

  /** See {@link Transport.wasAnswered}. */
  get wasAnswered(): boolean {
    return this.#transport.wasAnswered
  }

  /** Authority to trust at this address, if it has one of its own. */
  get ca(): string | undefined {
    return this.#transport.address.ca
  }

  get userAgent(): string | undefined {
    return this.#transport.userAgent
  }

  /**
   * Makes sure that there is a session. Call it before opening a socket, which must authenticate within 5
   * seconds.
   */
  ready(options: CallOptions): Promise<void> {
    return this.#keeper.ready(options)
  }

  /** Returns newly signed headers for the first frame of a socket, with lower-case names. */
  async credentials(): Promise<Record<string, string>> {
    const headers = await this.#transport.authorize(events)
    return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
  }

  /** Opens the event stream and returns it unread. @throws BridgeError, LocalError like every call. */
  open(options: CallOptions): Promise<FetchResponse> {
    return this.withRecovery(options, async () => {
      await this.#keeper.ready(options)
      return this.#transport.open(events, 'text/event-stream', options)
    })
  }

  /** Opens a connection, and opens it again immediately after each refusal that could be remedied. */
  async withRecovery<T>(options: CallOptions, open: () => Promise<T>): Promise<T> {
    const tried = new Set<string>()
    for (;;) {
      try {
        return await open()
      } catch (failure) {
        if (!(await this.#transport.recover(failure, events, tried, options))) throw failure
      }
    }
  }
}
