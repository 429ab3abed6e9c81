/** Reads transfers as an agent. Contract §9. */
import type { Transfer, TransferList, TransferListQuery } from '../../sdk/contract/agent/transfers.ts'
import { limits } from '../../sdk/contract/limits.ts'
import { ApiError } from '../api-error.ts'
import type { Context } from '../context.ts'
import { toPage } from '../database/page.ts'
import { readAs, writeAs } from '../identity/admission.ts'
import type { AgentCaller } from '../identity/callers.ts'
import { reconcile } from './changes.ts'
import { removePackagesSoon } from './package-removal.ts'
import { findSecret } from './secrets.ts'
import * as store from './store.ts'
import { current, type Times, timesOf, toSummary, toTransfer } from './views.ts'

/**
 * Maximum number of expired transfers that one list records. Maintenance records the others, and no list
 * shows them as open.
 */
const reconciledPerList = 50

export async function listTransfers(
  context: Context,
  caller: AgentCaller,
  query: TransferListQuery,
): Promise<TransferList> {
  const expired = await writeAs(context, caller, async (tx) => {
    const expiredRows = await store.listExpired(
      tx.db,
      timesOf(context, tx.steadyNow).steadyIso,
      reconciledPerList,
    )
    const own = expiredRows.filter(({ project_id }) => project_id === caller.project_id)
    for (const transfer of own) await reconcile(context, tx, transfer)
    return own.filter(({ mode }) => mode === 'package').map(({ id }) => id)
  })
  await removePackagesSoon(context, expired)
  return readAs(context, caller, async (db, agent) => {
    const times = timesOf(context, context.steady.now())
    const limit = query.limit ?? limits.pageDefault
    const range = { after: query.after, limit: limit + 1, state: query.state }
    const rows = await store.listForAgent(db, agent.agent_id, query.role, range)
    return toTransferList(rows, { after: query.after, limit, state: query.state, times })
  })
}

interface ListShape {
  readonly after: string | undefined
  readonly limit: number
  readonly state: store.TransferRange['state']
  readonly times: Times
}

/**
 * Builds a list from up to `limit + 1` rows. Transfers that expired after the reconciliation are computed
 * from the clock.
 */
export function toTransferList(rows: readonly store.ListedRow[], shape: ListShape): TransferList {
  const { items, ...page } = toPage(rows, shape.limit, shape.after, (row) =>
    toSummary(current(row, shape.times), row.secret_expires_at, shape.times),
  )
  return {
    transfers: items.filter(({ state }) => shape.state === undefined || state === shape.state),
    ...page,
  }
}

export function getTransfer(context: Context, caller: AgentCaller, id: string): Promise<Transfer> {
  return readAs(context, caller, async (db, agent) => {
    const times = timesOf(context, context.steady.now())
    const row = await store.findForAgent(db, agent.project_id, agent.agent_id, id)
    if (row === undefined) throw new ApiError('not_found')
    const secret = await findSecret(db, row.id)
    return toTransfer(current(row, times), secret?.expires_at ?? null, times)
  })
}
