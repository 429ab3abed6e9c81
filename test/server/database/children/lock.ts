/** Holds the lock of a data folder until it is killed or receives a line. */
import { once } from 'node:events'
import { DataFolderLockedError, lockDataFolder } from '../../../../server/database/sqlite/lock.ts'
import { say } from './store.ts'

try {
  const lock = lockDataFolder(process.argv[2] ?? '')
  say('locked')
  await once(process.stdin, 'data')
  lock.release()
  say('released')
  process.exit(0)
} catch (error) {
  if (!(error instanceof DataFolderLockedError)) throw error
  say('refused')
  process.exit(1)
}
