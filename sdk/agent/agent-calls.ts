/**
 * Sends an agent's requests, mutations through the outbox.
 *
 * - Key and body are durable before the first attempt, and removed once the node has answered.
 * - Entries that earlier commands kept are sent first, once each. A refusal removes an entry and is reported,
 *   unless a later retry may succeed: then the entry stays, and the later ones are sent. If the node is
 *   unreachable or refuses the identity, the entry and all later ones stay.
 *
 * Contract §12.
 */
import { conversations } from '../contract/agent/conversations.ts'
import { type MessageSent, messages } from '../contract/agent/messages.ts'
import { tasks } from '../contract/agent/tasks.ts'
import { transfers } from '../contract/agent/transfers.ts'
import type { EndpointSpec, ResponseOf } from '../contract/endpoint.ts'
import type { MessageDraft, Outbox, OutboxEntry } from '../storage/outbox.ts'
import { BridgeError, isRefused } from '../transport/failures.ts'
import { type CallInput, type CallOptions, freshKey, type KeyedOptions, prepare } from '../transport/http.ts'
import { isTemporary } from '../transport/temporary.ts'
import type { DirectCalls } from './direct-calls.ts'
import type { Directory } from './directory.ts'
import type { Drafts } from './drafts.ts'

/** Outcome of sending an entry that an earlier command kept. */
export interface Flushed {
  readonly entry: OutboxEntry
  /** `delayed` means that it was not accepted now and may be later; the entry stays in the outbox. */
  readonly outcome: 'sent' | 'refused' | 'delayed'
  readonly answer?: unknown
  readonly error?: Error
}

export interface AgentCallsOptions {
  readonly direct: DirectCalls
  readonly drafts: Drafts
  readonly directory: Directory
  readonly outbox: Outbox | undefined
  readonly random: (bytes: number) => Buffer
  /** Called for every kept entry that was sent before a mutation. */
  readonly onFlushed?: ((flushed: Flushed) => void) | undefined
  /** Called for every entry that it leaves in the outbox. */
  readonly onKept?: ((entry: OutboxEntry) => void) | undefined
}

type Content = Pick<OutboxEntry, 'idempotency_key' | 'request' | 'draft'>

export class AgentCalls {
  readonly #options: AgentCallsOptions

  constructor(options: AgentCallsOptions) {
    this.#options = options
  }

  /**
   * Calls an endpoint of the agent's API; a mutation goes through the outbox. {@link DirectCalls.call} never
   * uses the outbox.
   *
   * @throws BridgeError if the node refuses; LocalError if no answer of the node arrived.
   */
  async call<const E extends EndpointSpec>(
    entry: E,
    input: CallInput<E>,
    options: KeyedOptions = {},
  ): Promise<ResponseOf<E>> {
    const key = options.idempotencyKey ?? freshKey(this.#options.random)
    const request = prepare(entry, input, key)
    const isMutation = request.method === 'POST' && request.repeatable && request.caller === 'agent'
    const content = { idempotency_key: request.idempotencyKey ?? null, request, draft: null }
    const answer = isMutation ? this.#mutate(content, options) : this.#options.direct.send(request, options)
    return (await answer.catch((error: unknown) => this.#forgetUnknown(entry.id, error))) as ResponseOf<E>
  }

  /**
   * Sends a message whose recipient may have to be looked up first.
   *
   * @throws as {@link call}; LocalError `peer_unknown`
   */
  async sendDraft(draft: MessageDraft, options: KeyedOptions): Promise<MessageSent> {
    const key = options.idempotencyKey ?? freshKey(this.#options.random)
    // If the recipient is remembered, the outbox entry holds the request itself and is written once.
    const input = await this.#options.drafts.remembered(draft)
    const request = input === undefined ? null : prepare(messages.send, input, key)
    const answer = this.#mutate({ idempotency_key: key, request, draft }, options)
    return (await answer.catch((error: unknown) =>
      this.#forgetUnknown(messages.send.id, error),
    )) as MessageSent
  }

  /**
   * Sends the given entries, or all that are due. Stops with an error if the node is unreachable or refuses
   * the identity.
   */
  async *flush(
    ids: readonly string[] | undefined,
    options: CallOptions,
  ): AsyncGenerator<Flushed, void, undefined> {
    const { outbox } = this.#options
    if (outbox === undefined) return
    // Check all ids before the first is sent, so that a wrong id sends nothing.
    if (ids !== undefined) await outbox.requireOwn(ids)
    let { attempts } = options
    for (const id of ids ?? (await outbox.due())) {
      const entry = await outbox.claim(id)
      if (entry === undefined) continue
      const flushed = await this.#flushOne(outbox, entry, { ...options, attempts })
      yield flushed
      // A node that is full for one entry may be full for all. The pauses are spent on the first one only.
      if (flushed.error instanceof BridgeError && flushed.error.status === 503) attempts = 1
    }
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
      // If an earlier entry failed, this one was not sent and stays in the outbox.
      await this.#settle(outbox, entry, !isItsTurn || !isRefused(error))
      throw error
    }
  }

  async #flushOne(outbox: Outbox, entry: OutboxEntry, options: CallOptions): Promise<Flushed> {
    try {
      const answer = await this.#deliver(entry, options)
      await outbox.remove(entry.id)
      return { entry, outcome: 'sent', answer }
    } catch (error) {
      const mayPassLater = isTemporary(error, 'outbox entry')
      // A full inbox or disk refuses this entry. Others may be for another inbox, or free what is full.
      const stops = refusesIdentity(error) || (!isRefused(error) && !mayPassLater)
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
    const { direct, drafts } = this.#options
    if (entry.request !== null) return direct.send(entry.request, options)
    if (entry.draft === null) throw new TypeError('an outbox entry holds a request or a draft')
    const input = await drafts.resolved(entry.draft, options)
    const request = prepare(messages.send, input, entry.idempotency_key ?? undefined)
    // From now on the body is fixed: a retry must send the same bytes with the same key.
    if (entry.id !== '') await this.#options.outbox?.update({ ...entry, request })
    return direct.send(request, options)
  }

  /**
   * A remembered name or conversation may be out of date. If the node does not know one, the directory forgets
   * all.
   */
  async #forgetUnknown(endpoint: string, error: unknown): Promise<never> {
    const isUnknown = error instanceof BridgeError && error.code === 'not_found'
    if (isUnknown && namesPeers.has(endpoint)) await this.#options.directory.forget()
    throw error
  }
}

/** Endpoints whose recipient may be given by name. */
const namesPeers: ReadonlySet<string> = new Set([
  messages.send.id,
  conversations.open.id,
  tasks.create.id,
  transfers.create.id,
])

const unkept = { id: '', created_at: '', server_id: '', agent_id: '' }

/**
 * Whether the node refused the identity or its session instead of the request. The entry then stays in the
 * outbox.
 */
const refusesIdentity = (error: unknown): boolean =>
  error instanceof BridgeError &&
  (error.status === 401 ||
    error.code === 'rate_limited' ||
    error.code === 'agent_disabled' ||
    error.code === 'project_archived' ||
    error.code === 'takeover_pending' ||
    error.code.startsWith('session_'))
