/** Unacknowledged messages to the owner. Contract §10. */
import { limits } from '../../contract/limits.ts'
import { inbox as entries, type OwnerInbox, type OwnerInboxMessage } from '../../contract/owner/messages.ts'
import type { CallOptions } from '../../transport/http.ts'
import { type Call, everyItem, given, type PageOptions } from '../call.ts'

export class OwnerInboxes {
  readonly #call: Call

  constructor(call: Call) {
    this.#call = call
  }

  /**
   * Reads one page of the unacknowledged messages to the owner, oldest first, of all projects that the caller
   * may see. Reading acknowledges nothing; `owner.messages.acknowledge` does.
   */
  list({ after, limit, ...options }: PageOptions & CallOptions = {}): Promise<OwnerInbox> {
    return this.#call(entries.list, { query: given({ after, limit }) }, options)
  }

  /** {@link list} of one project. @throws not_found */
  ofProject(
    projectId: string,
    { after, limit, ...options }: PageOptions & CallOptions = {},
  ): Promise<OwnerInbox> {
    const query = given({ after, limit })
    return this.#call(entries.ofProject, { params: { id: projectId }, query }, options)
  }

  /** Every message of {@link list}, or of {@link ofProject} with `projectId`, page after page. */
  all({
    projectId,
    ...options
  }: { readonly projectId?: string | undefined } & PageOptions & CallOptions = {}): AsyncGenerator<
    OwnerInboxMessage,
    void,
    undefined
  > {
    const read = (after = options.after) => {
      const page = { limit: limits.pageMax, ...options, after }
      return projectId === undefined ? this.list(page) : this.ofProject(projectId, page)
    }
    return everyItem(read, (page) => page.messages)
  }
}
