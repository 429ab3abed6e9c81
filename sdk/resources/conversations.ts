/** Conversations and their history. Contract §7. */
import {
  type Conversation,
  conversations as entries,
  type MessagePage,
} from '../contract/agent/conversations.ts'
import type { ResponseOf } from '../contract/endpoint.ts'
import { limits } from '../contract/limits.ts'
import type { CallOptions, KeyedOptions } from '../transport/http.ts'
import { type Call, everyItem, given, type PageOptions } from './call.ts'

export interface HistoryOptions extends CallOptions {
  readonly afterSequence?: number | undefined
  readonly limit?: number | undefined
}

export class Conversations {
  readonly #call: Call

  constructor(call: Call) {
    this.#call = call
  }

  /**
   * Create or retrieve the conversation with a peer; the caller's own id means the owner.
   *
   * @throws not_found for an agent that is no peer; pairing_disabled; project_paused.
   */
  open(recipientAgentId: string, options: KeyedOptions = {}): Promise<Conversation> {
    return this.#call(entries.open, { body: { recipient_agent_id: recipientAgentId } }, options)
  }

  /** One page. See {@link all}. */
  list({
    after,
    limit,
    ...options
  }: PageOptions & CallOptions = {}): Promise<ResponseOf<typeof entries.list>> {
    return this.#call(entries.list, { query: given({ after, limit }) }, options)
  }

  /** Every conversation of the caller, read page after page. */
  all(options: CallOptions = {}): AsyncGenerator<Conversation, void, undefined> {
    const read = (after: string | undefined) => this.list({ ...options, after, limit: limits.pageMax })
    return everyItem(read, (page) => page.conversations)
  }

  /** @throws not_found */
  get(id: string, options: CallOptions = {}): Promise<Conversation> {
    return this.#call(entries.get, { params: { id } }, options)
  }

  /** Messages in ascending sequence; `next_sequence` is the next `afterSequence`. @throws not_found */
  history(id: string, { afterSequence, limit, ...options }: HistoryOptions = {}): Promise<MessagePage> {
    const query = given({ after_sequence: afterSequence, limit })
    return this.#call(entries.history, { params: { id }, query }, options)
  }
}
