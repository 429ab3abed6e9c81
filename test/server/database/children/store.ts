/** Opens the store at a path for a child process, as a server would. */
import { randomBytes } from 'node:crypto'
import { writeSync } from 'node:fs'
import { createIds, greatestId } from '../../../../server/database/ids.ts'
import { migrate } from '../../../../server/database/migrate.ts'
import { migrations } from '../../../../server/database/migrations/index.ts'
import { openNonces } from '../../../../server/database/nonces.ts'
import { openDatabase } from '../../../../server/database/open.ts'
import { createWriter } from '../../../../server/database/transaction.ts'

export const say = (line: string) => writeSync(1, `${line}\n`)

export function openStore(path: string, pragma?: string) {
  const clock = () => new Date()
  const database = openDatabase(path)
  migrate(database, migrations, clock)
  if (pragma !== undefined) database.pragma(pragma)
  return createWriter({
    database,
    clock,
    monotonicMs: () => performance.now(),
    nonces: openNonces({ database, clock, monotonicMs: () => performance.now() }),
    ids: createIds(greatestId(database), randomBytes),
    onFatal: (error) => say(`fatal ${(error as { code?: string }).code}`),
    onEffectError: (error) => say(`effect ${String(error)}`),
  })
}
