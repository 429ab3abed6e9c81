/**
 * The start of a server up to its open store, which a test kills: migrates the database of the given data
 * folder, prints `open`, and exits.
 */
import { randomBytes } from 'node:crypto'
import { openNodeDatabase } from '../../../server/database/sqlite/database.ts'

const fail = (error: unknown) => {
  throw error
}
const store = openNodeDatabase({
  data: process.argv[2] ?? '',
  clock: () => new Date(),
  monotonicMs: () => performance.now(),
  random: randomBytes,
  onFatal: fail,
  onEffectError: fail,
})
process.stdout.write('open\n')
await store.close()
