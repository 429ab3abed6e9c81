/** Transfers, as their owner sees them. Contract §10. */
import type { Transfer } from '../../contract/agent/transfers.ts'
import { limits } from '../../contract/limits.ts'
import { transfers as entries, type TransferList } from '../../contract/owner/transfers.ts'
import type { CallOptions } from '../../transport/http.ts'
import { type Call, everyItem, given, type PageOptions } from '../call.ts'

export interface TransferFilter {
  readonly state?: Transfer['state'] | undefined
}

export class OwnerTransfers {
  readonly #call: Call

  constructor(call: Call) {
    this.#call = call
  }

  /** One page of a project's transfers. @throws not_found */
  list(
    projectId: string,
    { after, limit, state, ...options }: TransferFilter & PageOptions & CallOptions = {},
  ): Promise<TransferList> {
    const query = given({ after, limit, state })
    return this.#call(entries.list, { params: { id: projectId }, query }, options)
  }

  /** Every transfer of a project, page after page. @throws not_found */
  all(
    projectId: string,
    options: TransferFilter & CallOptions = {},
  ): AsyncGenerator<Transfer, void, undefined> {
    const read = (after: string | undefined) =>
      this.list(projectId, { ...options, after, limit: limits.pageMax })
    return everyItem(read, (page) => page.transfers)
  }
}
