/**
 * Loaded into the server program before it starts, by `process.ts`.
 *
 * - The program ends with its parent: standard input closes when the parent dies for any reason. The
 *   program then removes the temporary folder.
 * - Passwords are hashed cheaply, because the real cost is half a second of processor time. Servers that are
 *   started without this file have the real cost (`cli/server.test.ts`), and `server/sign-in.test.ts` tests it.
 * - BRIDGE_TEST_CLOCK_FROM is the time at which the program believes it starts. A line on standard input is the
 *   number of milliseconds by which its wall clock is ahead from then on. The line `clock set` answers it.
 * - BRIDGE_TEST_CONTROL breaks the store on purpose (`test/support/broken-store.ts`); the product has no
 *   such switch.
 * - BRIDGE_TEST_FOLD_EVERY is the number of WAL pages that triggers a checkpoint.
 *
 * Plain JavaScript: Node's TypeScript loader would add to the measured memory of the program and to each
 * start.
 */
import crypto from 'node:crypto'
import { rmSync } from 'node:fs'
import { flushCompileCache, syncBuiltinESMExports } from 'node:module'

const { BRIDGE_TEST_FOLDER: folder, BRIDGE_TEST_CONTROL: control, BRIDGE_TEST_CLOCK_FROM: from } = process.env
const { BRIDGE_TEST_FOLD_EVERY: pages } = process.env

const parent = process.stdin
parent.once('end', () => {
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
  process.exit(3)
})
parent.setEncoding('utf8').on('data', (line) => {
  setClock(Number(line))
  process.stdout.write('clock set\n')
})
// The pipe is observed but does not keep the process alive: the program exits normally on a signal.
parent.unref()

const RealDate = Date
let aheadMs = 0
if (from !== undefined) setClock(Number(from) - RealDate.now())
if (pages !== undefined) (await import('./broken-store.ts')).foldEvery(pages)
if (control !== undefined) (await import('./broken-store.ts')).breakStore(control)

const { scrypt } = crypto
crypto.scrypt = (password, salt, length, options, done) =>
  scrypt(password, salt, length, { ...options, N: 16 }, done)
syncBuiltinESMExports()

// Node writes the compile cache once the server is ready, because a killed process never writes it.
process.once('SIGUSR2', () => flushCompileCache())

function setClock(ms) {
  aheadMs = ms
  if (globalThis.Date !== RealDate) return
  globalThis.Date = class extends RealDate {
    constructor(...given) {
      super(...(given.length === 0 ? [RealDate.now() + aheadMs] : given))
    }
    static now() {
      return RealDate.now() + aheadMs
    }
  }
}
