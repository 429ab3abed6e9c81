/** Transfers, as the owner reads and cancels them. Contract §10. */
import type {
  Transfer,
  TransferList,
  TransferState,
  TransferSummary,
} from '../../contract/agent/transfers.ts'
import { limits } from '../../contract/limits.ts'
import { transfers as entries } from '../../contract/owner/transfers.ts'
import type { CallOptions } from '../../transport/http.ts'
import { type Call, everyItem, given, type Ordered, type PageOptions } from '../call.ts'

export interface OwnerTransferFilter {
  readonly state?: TransferState | undefined
}

export class OwnerTransfers {
  readonly #call: Call

  constructor(call: Call) {
    this.#call = call
  }

  /** One page of a project's transfers, oldest first, without their parts. @throws not_found */
  list(
    projectId: string,
    {
      after,
      limit,
      order,
      state,
      ...options
    }: OwnerTransferFilter & PageOptions & Ordered & CallOptions = {},
  ): Promise<TransferList> {
    const query = given({ after, limit, order, state })
    return this.#call(entries.list, { params: { id: projectId }, query }, options)
  }

  /** Every transfer of a project, page after page. @throws not_found */
  all(
    projectId: string,
    options: OwnerTransferFilter & Ordered & CallOptions = {},
  ): AsyncGenerator<TransferSummary, void, undefined> {
    const read = (after: string | undefined) =>
      this.list(projectId, { ...options, after, limit: limits.pageMax })
    return everyItem(read, (page) => page.transfers)
  }

  /** @throws not_found */
  get(projectId: string, transferId: string, options: CallOptions = {}): Promise<Transfer> {
    return this.#call(entries.get, { params: { id: projectId, transfer_id: transferId } }, options)
  }

  /**
   * Cancels a transfer that has not ended. Both sides are notified, and the stored bytes are deleted.
   *
   * @throws not_found, state_conflict, offer_expired
   */
  cancel(
    projectId: string,
    transferId: string,
    { reason }: { readonly reason?: string | undefined } = {},
    options: CallOptions = {},
  ): Promise<Transfer> {
    const params = { id: projectId, transfer_id: transferId }
    return this.#call(entries.cancel, { params, body: given({ reason }) }, options)
  }
}
