import { limits } from '../../sdk/contract/limits.ts'
import type { HostSampleInput } from '../../sdk/contract/telemetry.ts'
import type { TelemetryHostRow } from '../database/node-tables.ts'
import type { Db } from '../database/tables.ts'
import type { Tx } from '../database/tx.ts'
import { before } from '../maintenance/expired.ts'
import type { Job } from '../maintenance/job.ts'
export const findHost = (db: Db, host: string): Promise<TelemetryHostRow | undefined> =>
  db.selectFrom('telemetry_hosts').selectAll().where('host', '=', host).executeTakeFirst()

export async function countHosts(db: Db): Promise<number> {
  const found = await db
    .selectFrom('telemetry_hosts')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return found.count
}

export async function keepSample(tx: Tx, sample: HostSampleInput): Promise<void> {
  const { host, ...rest } = sample
  const row = { ...rest, received_at: tx.nowIso }
  await tx.db
    .insertInto('telemetry_hosts')
    .values({ host, ...row })
    .onConflict((conflict) => conflict.column('host').doUpdateSet(row))
    .execute()
}

export const listHosts = (db: Db): Promise<TelemetryHostRow[]> =>
  db.selectFrom('telemetry_hosts').selectAll().orderBy('host').limit(limits.telemetryHosts).execute()

/** Deletes hosts that have not reported for a month. */
export const hostRetention: Job = {
  name: 'silent hosts removed',
  begin: () => async (tx) => {
    const removed = await tx.db
      .deleteFrom('telemetry_hosts')
      .where('received_at', '<', before(tx.now, limits.telemetryHostDays))
      .executeTakeFirst()
    return { done: Number(removed.numDeletedRows), more: false }
  },
}
