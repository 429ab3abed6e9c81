/** Conversations of a project, peer conversations included, as their owner reads them. Contract §7. */
import type { MessagePage } from '../../contract/agent/conversations.ts'
import type { ResponseOf } from '../../contract/endpoint.ts'
import { conversations as entries } from '../../contract/owner/messages.ts'
import { type CallOptions, type OwnerCall, type PageOptions, pageQuery } from './call.ts'

/** After a sequence reads forward, before one reads backward; neither gives the latest 100. Never both. */
export type HistoryPlace =
  | { readonly afterSequence?: number | undefined; readonly beforeSequence?: undefined }
  | { readonly afterSequence?: undefined; readonly beforeSequence?: number | undefined }

export class OwnerConversations {
  readonly #call: OwnerCall

  constructor(call: OwnerCall) {
    this.#call = call
  }

  /** One page of a project's conversations. @throws not_found */
  list(projectId: string, page: PageOptions & CallOptions = {}): Promise<ResponseOf<typeof entries.list>> {
    return this.#call(entries.list, { params: { id: projectId }, query: pageQuery(page) }, page)
  }

  /**
   * Read 100 messages, always ascending. Reading acknowledges nothing.
   *
   * `retention_gap` tells when older messages were removed.
   *
   * @throws not_found
   */
  history(
    projectId: string,
    conversationId: string,
    place: HistoryPlace = {},
    options: CallOptions = {},
  ): Promise<MessagePage> {
    const query = {
      ...(place.afterSequence === undefined ? {} : { after_sequence: place.afterSequence }),
      ...(place.beforeSequence === undefined ? {} : { before_sequence: place.beforeSequence }),
    }
    const params = { id: projectId, conversation_id: conversationId }
    return this.#call(entries.history, { params, query }, options)
  }
}
