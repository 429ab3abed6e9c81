/** An asynchronous standby that is behind. */
import { expect } from 'vitest'
import type { Cluster } from '../../../support/postgres-cluster.ts'

/** Starts a standby that has everything up to and with `writeLast`, and nothing later. */
export async function startBehind(
  primary: Cluster,
  writeLast: () => Promise<unknown> = async () => {},
): Promise<Cluster> {
  const standby = await primary.startStandby()
  await writeLast()
  const [last] = await primary.query<{ lsn: string }>('SELECT pg_current_wal_lsn() AS lsn')
  await expect
    .poll(async () => {
      const text = 'SELECT pg_last_wal_replay_lsn() >= $1::pg_lsn AS has'
      return (await standby.query<{ has: boolean }>(text, [last?.lsn]))[0]?.has
    })
    .toBe(true)
  await standby.query("ALTER SYSTEM SET primary_conninfo = ''")
  standby.reload()
  await expect.poll(() => standby.query('SELECT 1 FROM pg_stat_wal_receiver')).toEqual([])
  return standby
}
