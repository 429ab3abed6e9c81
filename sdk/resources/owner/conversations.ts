/** Conversations of a project, including those between agents, as the owner reads them. Contract §7. */
import type { Conversation, MessagePage } from '../../contract/agent/conversations.ts'
import type { ResponseOf } from '../../contract/endpoint.ts'
import { limits } from '../../contract/limits.ts'
import { conversations as entries } from '../../contract/owner/messages.ts'
import type { CallOptions } from '../../transport/http.ts'
import { type Call, everyItem, given, type Ordered, type PageOptions } from '../call.ts'

export interface OwnerHistoryOptions extends CallOptions {
  /** Sequence after which to read forward. */
  readonly afterSequence?: number | undefined
  /**
   * Sequence before which to read backward. Give at most one of the two; without either, the latest 100 are
   * read.
   */
  readonly beforeSequence?: number | undefined
}

export class OwnerConversations {
  readonly #call: Call

  constructor(call: Call) {
    this.#call = call
  }

  /** One page of a project's conversations. @throws not_found */
  list(
    projectId: string,
    { after, limit, order, ...options }: PageOptions & Ordered & CallOptions = {},
  ): Promise<ResponseOf<typeof entries.list>> {
    return this.#call(
      entries.list,
      { params: { id: projectId }, query: given({ after, limit, order }) },
      options,
    )
  }

  /** Every conversation of a project, page after page. @throws not_found */
  all(projectId: string, options: Ordered & CallOptions = {}): AsyncGenerator<Conversation, void, undefined> {
    const read = (after: string | undefined) =>
      this.list(projectId, { ...options, after, limit: limits.pageMax })
    return everyItem(read, (page) => page.conversations)
  }

  /** One conversation. @throws not_found */
  get(projectId: string, conversationId: string, options: CallOptions = {}): Promise<Conversation> {
    const params = { id: projectId, conversation_id: conversationId }
    return this.#call(entries.get, { params }, options)
  }

  /**
   * Reads 100 messages in ascending order. Reading does not acknowledge them.
   *
   * `retention_gap` is present if older messages were removed.
   *
   * @throws not_found; invalid_request if both sequences are given.
   */
  history(
    projectId: string,
    conversationId: string,
    { afterSequence, beforeSequence, ...options }: OwnerHistoryOptions = {},
  ): Promise<MessagePage> {
    const query = given({ after_sequence: afterSequence, before_sequence: beforeSequence })
    const params = { id: projectId, conversation_id: conversationId }
    return this.#call(entries.history, { params, query }, options)
  }
}
