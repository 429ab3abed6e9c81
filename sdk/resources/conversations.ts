/** Conversations and their history. Contract §7. */
import {
  type Conversation,
  conversations as entries,
  type MessagePage,
} from '../contract/agent/conversations.ts'
import type { ResponseOf } from '../contract/endpoint.ts'
import { limits } from '../contract/limits.ts'
import { asId } from '../names.ts'
import type { CallOptions, KeyedOptions } from '../transport/http.ts'
import { type Call, everyItem, given, type PageOptions } from './call.ts'

export interface HistoryOptions extends CallOptions {
  readonly afterSequence?: number | undefined
  readonly limit?: number | undefined
}

/** Looks up names. */
export interface ConversationNames {
  agentId(to: string, options: CallOptions): Promise<string>
  conversation(to: string, options: CallOptions): Promise<string | undefined>
}

export class Conversations {
  readonly #call: Call
  readonly #names: ConversationNames | undefined

  /** Without names it takes ids alone. */
  constructor(call: Call, names?: ConversationNames) {
    this.#call = call
    this.#names = names
  }

  /**
   * Creates or retrieves the conversation with a peer, given by id or name, or with the owner, given by `owner`
   * or the caller's own id.
   *
   * @throws not_found for an agent that is not a peer, pairing_disabled, or project_paused. LocalError
   *   `peer_unknown` lists the peers.
   */
  async open(peer: string, options: KeyedOptions = {}): Promise<Conversation> {
    const recipient_agent_id = (await this.#names?.agentId(peer, options)) ?? peer
    return this.#call(entries.open, { body: { recipient_agent_id } }, options)
  }

  /** Reads one page of the caller's conversations. See {@link all}. */
  list({
    after,
    limit,
    ...options
  }: PageOptions & CallOptions = {}): Promise<ResponseOf<typeof entries.list>> {
    return this.#call(entries.list, { query: given({ after, limit }) }, options)
  }

  /** Yields every conversation of the caller, page after page. */
  all(options: CallOptions = {}): AsyncGenerator<Conversation, void, undefined> {
    const read = (after: string | undefined) => this.list({ ...options, after, limit: limits.pageMax })
    return everyItem(read, (page) => page.conversations)
  }

  /** Reads one conversation. @throws not_found */
  get(id: string, options: CallOptions = {}): Promise<Conversation> {
    return this.#call(entries.get, { params: { id } }, options)
  }

  /**
   * Reads messages in ascending sequence. Pass `next_sequence` as the next `afterSequence`. The conversation is
   * given by its id, the name of the peer, or `owner`. If there is no conversation with the peer, the page is
   * empty.
   *
   * @throws not_found; LocalError `peer_unknown` lists the peers.
   */
  async history(
    conversation: string,
    { afterSequence, limit, ...options }: HistoryOptions = {},
  ): Promise<MessagePage> {
    const query = given({ after_sequence: afterSequence, limit })
    const id = asId(conversation) ?? (await this.#names?.conversation(conversation, options))
    if (id === undefined) return { messages: [], has_more: false, next_sequence: afterSequence ?? 0 }
    return this.#call(entries.history, { params: { id }, query }, options)
  }
}
