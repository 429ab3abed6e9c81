/**
 * Requests of an agent that are signed, made in a session, and sent without the outbox.
 *
 * The caller repeats a lost look-up, so it needs no outbox. See agent-calls.ts for mutations, which go through
 * the outbox.
 */
import type { EndpointSpec, ResponseOf } from '../contract/endpoint.ts'
import {
  type CallInput,
  type CallOptions,
  freshKey,
  type KeyedOptions,
  type PreparedRequest,
  prepare,
  type Transport,
} from '../transport/http.ts'
import type { SessionKeeper } from './session.ts'

export interface DirectCallsOptions {
  readonly transport: Transport
  readonly keeper: SessionKeeper
  readonly random: (bytes: number) => Buffer
}

export class DirectCalls {
  readonly #transport: Transport
  readonly #keeper: SessionKeeper
  readonly #random: (bytes: number) => Buffer

  constructor({ transport, keeper, random }: DirectCallsOptions) {
    this.#transport = transport
    this.#keeper = keeper
    this.#random = random
  }

  /** Calls an endpoint of the agent's API, without the outbox. */
  async call<const E extends EndpointSpec>(
    entry: E,
    input: CallInput<E>,
    options: KeyedOptions = {},
  ): Promise<ResponseOf<E>> {
    const key = options.idempotencyKey ?? freshKey(this.#random)
    return (await this.send(prepare(entry, input, key), options)) as ResponseOf<E>
  }

  /** Starts a session if the request needs one, and sends the request. */
  async send(request: PreparedRequest, options: CallOptions): Promise<unknown> {
    if (request.caller === 'agent') await this.#keeper.ready(options)
    else await this.#keeper.stored()
    return this.#transport.send(request, options)
  }
}
