/**
 * Runs three migrations: `migrate.ts PATH [STEP]`. A call follows each statement; the call with the number
 * STEP kills this process, like `kill -9`.
 */
import { migrate } from '../../../../server/database/sqlite/migrate.ts'
import { openDatabase } from '../../../../server/database/sqlite/open.ts'
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
