/**
 * Carries an agent's requests, mutations by way of the outbox.
 *
 * - Key and body are on disk before the first attempt, and removed once the service answered.
 * - What an earlier command had to keep goes first, each once. A refusal ends it and is reported, unless it says that
 *   later may do. While the node is away, or refuses the identity, it stays, and so does what was to follow it.
 *
 * Contract §12.
 */
import { messages } from '../contract/agent/messages.ts'
import type { EndpointSpec } from '../contract/endpoint.ts'
import type { MessageDraft, Outbox, OutboxEntry } from '../storage/outbox.ts'
import { BridgeError, isOutcomeUnknown, LocalError } from '../transport/failures.ts'
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

/** What became of an entry that an earlier command kept. */
export interface Flushed {
  readonly entry: OutboxEntry
  /** `delayed`: refused for now, and kept. */
  readonly outcome: 'sent' | 'refused' | 'delayed'
  readonly answer?: unknown
  readonly error?: Error
}

export interface CourierOptions {
  readonly transport: Transport
  readonly keeper: SessionKeeper
  readonly outbox: Outbox | undefined
  readonly random: (bytes: number) => Buffer
  /** Makes a draft into the input of `messages.send`. */
  readonly resolve: (draft: MessageDraft, options: CallOptions) => Promise<CallInput<typeof messages.send>>
  /** {@link resolve} as far as it asks nobody. */
  readonly remembered: (draft: MessageDraft) => Promise<CallInput<typeof messages.send> | undefined>
  /** Told of every kept entry that was sent before a mutation. */
  readonly onFlushed?: ((flushed: Flushed) => void) | undefined
  /** Told of every entry that this courier leaves in the outbox. */
  readonly onKept?: ((entry: OutboxEntry) => void) | undefined
}

type Content = Pick<OutboxEntry, 'idempotency_key' | 'request' | 'draft'>

export class Courier {
  readonly #options: CourierOptions

  constructor(options: CourierOptions) {
    this.#options = options
  }

  /** Any endpoint of the agent's. */
  async call<E extends EndpointSpec>(
    entry: E,
    input: CallInput<E>,
    options: KeyedOptions = {},
  ): Promise<unknown> {
    const key = options.idempotencyKey ?? freshKey(this.#options.random)
    const request = prepare(entry, input, key)
    const isMutation = request.method === 'POST' && request.repeatable && request.caller === 'agent'
    if (!isMutation) return this.#send(request, options)
    return this.#mutate({ idempotency_key: request.idempotencyKey ?? null, request, draft: null }, options)
  }

  /** {@link call} past the outbox: look-ups, which are made again when they are needed again. */
  async direct<E extends EndpointSpec>(
    entry: E,
    input: CallInput<E>,
    options: KeyedOptions = {},
  ): Promise<unknown> {
    const key = options.idempotencyKey ?? freshKey(this.#options.random)
    return this.#send(prepare(entry, input, key), options)
  }

  /** A message whose recipient may have to be looked up first. */
  async sendDraft(draft: MessageDraft, options: KeyedOptions): Promise<unknown> {
    const key = options.idempotencyKey ?? freshKey(this.#options.random)
    // Where nothing has to be looked up, the one entry that is written holds the request itself.
    const input = await this.#options.remembered(draft)
    const request = input === undefined ? null : prepare(messages.send, input, key)
    return this.#mutate({ idempotency_key: key, request, draft }, options)
  }

  /** Send what is kept: what is due, or exactly these. Stops where the node is away or refuses the identity. */
  async *flush(
    ids: readonly string[] | undefined,
    options: CallOptions,
  ): AsyncGenerator<Flushed, void, undefined> {
    const { outbox } = this.#options
    if (outbox === undefined) return
    // All or nothing: what was named by mistake must not be half done.
    if (ids !== undefined) await outbox.requireOwn(ids)
    for (const id of ids ?? (await outbox.due())) {
      const entry = await outbox.claim(id)
      if (entry !== undefined) yield await this.#flushOne(outbox, entry, options)
    }
  }

  async #send(request: PreparedRequest, options: CallOptions): Promise<unknown> {
    const { keeper, transport } = this.#options
    if (request.caller === 'agent') await keeper.ready(options)
    else await keeper.stored()
    return transport.send(request, options)
  }

  async #mutate(content: Content, options: CallOptions): Promise<unknown> {
    const { outbox } = this.#options
    if (outbox === undefined) return this.#deliver({ ...unkept, ...content }, options)
    const due = await outbox.due()
    const entry = await outbox.add(content)
    let isItsTurn = false
    try {
      for await (const flushed of this.flush(due, options)) this.#options.onFlushed?.(flushed)
      isItsTurn = true
      const answer = await this.#deliver(entry, options)
      await outbox.remove(entry.id)
      return answer
    } catch (error) {
      // An earlier entry that could not go out says nothing of this one, which stays behind it.
      await this.#settle(outbox, entry, !isItsTurn || !isAnswered(error))
      throw error
    }
  }

  async #flushOne(outbox: Outbox, entry: OutboxEntry, options: CallOptions): Promise<Flushed> {
    try {
      const answer = await this.#deliver(entry, options)
      await outbox.remove(entry.id)
      return { entry, outcome: 'sent', answer }
    } catch (error) {
      const mayPassLater = error instanceof BridgeError && error.retry === 'after-delay'
      const stops = !isAnswered(error) || refusesIdentity(error)
      await this.#settle(outbox, entry, stops || mayPassLater)
      if (stops || !(error instanceof Error)) throw error
      return { entry, outcome: mayPassLater ? 'delayed' : 'refused', error }
    }
  }

  async #settle(outbox: Outbox, entry: OutboxEntry, stays: boolean): Promise<void> {
    if (!stays) {
      await outbox.remove(entry.id)
      return
    }
    await outbox.keep(entry.id)
    this.#options.onKept?.(entry)
  }

  async #deliver(entry: OutboxEntry, options: CallOptions): Promise<unknown> {
    if (entry.request !== null) return this.#send(entry.request, options)
    if (entry.draft === null) throw new TypeError('an outbox entry holds a request or a draft')
    const input = await this.#options.resolve(entry.draft, options)
    const request = prepare(messages.send, input, entry.idempotency_key ?? undefined)
    // From here on the body is fixed: a retry must be the same bytes under the same key.
    if (entry.id !== '') await this.#options.outbox?.update({ ...entry, request })
    return this.#send(request, options)
  }
}

const unkept = { id: '', created_at: '', server_id: '', agent_id: '' }

/** The service refused it, or it cannot be put to the service. Everything else leaves the entry where it is. */
const isAnswered = (error: unknown): boolean =>
  error instanceof BridgeError
    ? !isOutcomeUnknown(error)
    : error instanceof LocalError && error.code === 'peer_unknown'

/** The identity or its session is refused, not what the entry asks for: it stays until that is settled. */
const refusesIdentity = (error: unknown): boolean =>
  error instanceof BridgeError &&
  (error.status === 401 ||
    error.code === 'rate_limited' ||
    error.code === 'agent_disabled' ||
    error.code === 'project_archived' ||
    error.code === 'takeover_pending' ||
    error.code.startsWith('session_'))
