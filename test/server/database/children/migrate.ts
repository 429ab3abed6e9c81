/**
 * Runs three migrations: `migrate.ts PATH [STEP]`. Each statement is followed by a call that kills this process, as
 * `kill -9` would, when its number is STEP.
 */
import { migrate } from '../../../../server/database/migrate.ts'
import { openDatabase } from '../../../../server/database/open.ts'
import { threeMigrations } from '../three-migrations.ts'
import { say } from './store.ts'

const [path = '', step] = process.argv.slice(2)
const database = openDatabase(path)
database.function('here', (number: number) => {
  if (String(number) === step) process.kill(process.pid, 'SIGKILL')
  return null
})
say('open')
migrate(database, threeMigrations, () => new Date())
say('migrated')
process.exit(0)
