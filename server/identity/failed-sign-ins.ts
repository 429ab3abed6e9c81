/**
 * Selects the failed sign-ins to be audited: at most one per minute and network, and 1000 per minute in
 * total. Strangers may fail from many addresses, so this bounds the memory and the audit log.
 *
 * The memory of the process answers first, so a flood from one network costs no query. The audit itself
 * decides, because it also has the records of other nodes and of the process before a restart.
 *
 * Contract §10 "Failed sign-ins are audited".
 */
import { prepared } from '../database/prepared.ts'
import { beyond, inOrderWithin } from '../database/sql.ts'
import type { Tx } from '../database/tx.ts'
import { networkOf } from './network.ts'

const windowMs = 60_000
const maxNetworks = 1000

export interface FailedSignIns {
  /** Whether this process may record a failure from this address. If so, it counts as recorded. */
  take(address: string): boolean
}

/** `nowMs` must be monotonic. */
export function createFailedSignIns(nowMs: () => number): FailedSignIns {
  /** Time of the last recorded failure by network, oldest first. */
  const recorded = new Map<string, number>()
  const forgetUntil = (end: number) => {
    for (const [network, at] of recorded) {
      if (at > end) return
      recorded.delete(network)
    }
  }
  return {
    take(address) {
      const now = nowMs()
      forgetUntil(now - windowMs)
      const network = networkOf(address)
      if (recorded.has(network) || recorded.size >= maxNetworks) return false
      recorded.set(network, now)
      return true
    },
  }
}

const latest = prepared<{ from: string }>()((db, p) =>
  db
    .selectFrom('audit')
    .select(['id', 'at', 'details'])
    .where('project_id', 'is', null)
    .where(beyond('audit', p('from')))
    .where('kind', '=', 'owner.sign_in_failed')
    .orderBy(inOrderWithin('project_id', 'desc'))
    .limit(maxNetworks),
)

/** Whether the audit has no record of the last minute for the network of this address, and room for one. */
export async function mayRecord(tx: Tx, address: string): Promise<boolean> {
  const since = new Date(tx.steadyNow.getTime() - windowMs).toISOString()
  const rows = await latest.all(tx.db, { from: tx.idBefore(since) })
  const recent = rows.filter(({ id, at }) => tx.steadyOf(id, at) > since)
  const network = networkOf(address)
  return recent.length < maxNetworks && !recent.some(({ details }) => networkIn(details) === network)
}

const networkIn = (details: string): string =>
  networkOf((JSON.parse(details) as { readonly address: string }).address)
