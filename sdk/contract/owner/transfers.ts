/** Transfers as the owner sees them. Contract §10. */
import { type Static, Type } from 'typebox'
import { Transfer, TransferState } from '../agent/transfers.ts'
import { endpoint } from '../endpoint.ts'
import { IdParams, named, PageQuery, pageOf, Strict } from '../primitives.ts'

export const TransferList = named('TransferList', pageOf('transfers', Transfer))
export type TransferList = Static<typeof TransferList>

export const TransferListQuery = Strict({ ...PageQuery.properties, state: Type.Optional(TransferState) })

export const transfers = {
  list: endpoint({
    id: 'owner.transfers.list',
    method: 'GET',
    path: '/api/admin/projects/{id}/transfers',
    caller: 'owner',
    summary: 'List the transfers of a project. This version of the service makes none, so the list is empty.',
    params: IdParams,
    query: TransferListQuery,
    response: TransferList,
    errors: ['not_found'],
  }),
}
