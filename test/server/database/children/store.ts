/** Opens the store at a path for a child process, as a server does. */
import { randomBytes } from 'node:crypto'
import { writeSync } from 'node:fs'
import { createIds, greatestId } from '../../../../server/database/ids.ts'
import { migrate } from '../../../../server/database/migrate.ts'
import { migrations } from '../../../../server/database/migrations/index.ts'
import { openNonces } from '../../../../server/database/nonces.ts'
import { openDatabase } from '../../../../server/database/open.ts'
import { openSteadyClock } from '../../../../server/database/steady-clock.ts'
import { openWalSync } from '../../../../server/database/wal-sync.ts'
import { createWriter } from '../../../../server/database/write-queue.ts'

export const say = (line: string) => writeSync(1, `${line}\n`)

/** `no-sync`: success is reported for syncs that were never made. */
export function openStore(path: string, fault?: 'no-sync') {
  const clock = () => new Date()
  const database = openDatabase(path)
  migrate(database, migrations, clock)
  const walSync = openWalSync(database)
  const ids = createIds(greatestId(database), randomBytes)
  return createWriter({
    database,
    walSync: fault === undefined ? walSync : { ...walSync, sync: async () => {}, syncNow() {} },
    clock,
    monotonicMs: () => performance.now(),
    steady: openSteadyClock({ database, ids, clock, elapsedMs: () => performance.now(), writes: true }),
    nonces: openNonces({ database, clock, monotonicMs: () => performance.now() }),
    ids,
    onFatal: (error) => say(`fatal ${(error as { code?: string }).code}`),
    onEffectError: (error) => say(`effect ${String(error)}`),
  })
}
