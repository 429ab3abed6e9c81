/**
 * The owner's list of transfers. This version of the service makes none and has no table of them: the list is what an
 * owner's program that knows transfers finds on a node that has none. Contract §10.
 */
import type { FastifyInstance } from 'fastify'
import { contract } from '../../sdk/contract/index.ts'
import { limits } from '../../sdk/contract/limits.ts'
import type { Context } from '../context.ts'
import { toPage } from '../database/page.ts'
import { readAsOwner } from '../identity/owner.ts'
import { getProject } from '../projects/store.ts'
import { route } from '../route.ts'

const { transfers } = contract.owner

export function transferOwnerRoutes(app: FastifyInstance, context: Context): void {
  route(app, context, transfers.list, ({ caller, params, query }) =>
    readAsOwner(context, caller, async (db) => {
      await getProject(db, caller, params.id)
      const { items, ...page } = toPage(
        [],
        query.limit ?? limits.pageDefault,
        query.after,
        (row: never) => row,
      )
      return { transfers: items, ...page }
    }),
  )
}
