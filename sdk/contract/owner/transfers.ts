/** Transfers, as the owner reads and cancels them. Contract §10. */
import { type Static, Type } from 'typebox'
import { Transfer, TransferList, TransferReason, TransferState } from '../agent/transfers.ts'
import { endpoint } from '../endpoint.ts'
import { IdParams, OrderedPageQuery, Strict, Uuid } from '../primitives.ts'

export const OwnerTransferListQuery = Strict({
  ...OrderedPageQuery.properties,
  state: Type.Optional(TransferState),
})
export type OwnerTransferListQuery = Static<typeof OwnerTransferListQuery>

const TransferParams = Strict({ id: Uuid, transfer_id: Uuid })

export const transfers = {
  list: endpoint({
    id: 'owner.transfers.list',
    method: 'GET',
    path: '/api/admin/projects/{id}/transfers',
    caller: 'owner',
    summary: 'List the transfers of a project without their parts, oldest first.',
    params: IdParams,
    query: OwnerTransferListQuery,
    response: TransferList,
    errors: ['not_found'],
  }),
  get: endpoint({
    id: 'owner.transfers.get',
    method: 'GET',
    path: '/api/admin/projects/{id}/transfers/{transfer_id}',
    caller: 'owner',
    summary: 'Read one transfer, without its endpoint and token.',
    params: TransferParams,
    response: Transfer,
    errors: ['not_found'],
  }),
  cancel: endpoint({
    id: 'owner.transfers.cancel',
    method: 'POST',
    path: '/api/admin/projects/{id}/transfers/{transfer_id}/cancel',
    caller: 'owner',
    summary: 'Cancel a transfer that has not ended. Both sides are notified.',
    params: TransferParams,
    body: TransferReason,
    response: Transfer,
    errors: ['not_found', 'state_conflict', 'offer_expired'],
  }),
}
