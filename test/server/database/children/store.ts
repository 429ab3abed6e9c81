/** Opens the store at a path for a child process, as a server does. */
import { randomBytes } from 'node:crypto'
import { writeSync } from 'node:fs'
import { createIds } from '../../../../server/database/ids.ts'
import { migrations } from '../../../../server/database/migrations/index.ts'
import { greatestId } from '../../../../server/database/sqlite/greatest-id.ts'
import { migrate } from '../../../../server/database/sqlite/migrate.ts'
import { openNonces } from '../../../../server/database/sqlite/nonces.ts'
import { openDatabase } from '../../../../server/database/sqlite/open.ts'
import { openSteadyClock } from '../../../../server/database/sqlite/steady-clock.ts'
import { openWalSync } from '../../../../server/database/sqlite/wal-sync.ts'
import { createWriter } from '../../../../server/database/sqlite/write-queue.ts'

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
