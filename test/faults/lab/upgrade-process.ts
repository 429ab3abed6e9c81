/**
 * The start of a server as far as its store: brings the database of the data folder that is its argument up to date, says
 * `open`, and ends. To be killed on the way.
 */
import { randomBytes } from 'node:crypto'
import { openNodeDatabase } from '../../../server/database/database.ts'

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
