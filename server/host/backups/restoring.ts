/** The unit of a restore: changes every table as `restorations.ts` defines, records it, and lists the results. */
import { recordAudit, systemActor } from '../../audit/store.ts'
import type { SteadyClock } from '../../database/steady-clock.ts'
import type { Tx } from '../../database/tx.ts'
import { createWakeups } from '../../delivery/wakeups.ts'
import { type Restoring, restoreTables } from './restorations.ts'
import { type Review, reviewCredentials, reviewPeople } from './review.ts'

export interface RestoredFrom extends Pick<Restoring, 'known' | 'accepted' | 'hasBytes'> {
  readonly serverId: string
  /** Time of the last record in what was restored. */
  readonly newest: string
  /** Higher than every generation that is known. */
  readonly generation: number
}

export async function restoreWithin(
  tx: Tx,
  steady: Pick<SteadyClock, 'wall'>,
  { serverId, newest, known, accepted, hasBytes, generation: least }: RestoredFrom,
): Promise<Review> {
  const generation = Math.max(least, Math.floor(tx.now.getTime() / 1000))
  const restoring: Restoring = {
    context: { wakeups: createWakeups() },
    ...{ known, accepted, generation, hasBytes },
    grants: [],
    transfers: [],
    held: new Set(),
    revoked: new Set(),
    fenced: 0,
  }
  await restoreTables(tx, restoring)
  await recordAudit(tx, {
    kind: 'node.restored',
    actor: systemActor,
    project_id: null,
    subject: { type: 'server', id: serverId },
    details: { newest_record_at: newest, generation },
  })
  const { held, revoked, transfers, fenced } = restoring
  const grants = restoring.grants.map(({ expires_at, ...grant }) => ({
    ...grant,
    expires_at: expires_at && steady.wall(expires_at),
  }))
  const credentials = await reviewCredentials(tx.db, { held, revoked, nowIso: tx.nowIso })
  return { credentials, grants, people: await reviewPeople(tx.db), transfers, sessions_fenced: fenced }
}
