/**
 * Loaded into the server program before it starts, by `process.ts`.
 *
 * - The program ends with its parent: standard input closes when the parent dies for any reason. The
 *   program then removes the temporary folder.
 * - Passwords are hashed cheaply, because the real cost is half a second of processor time. Servers that are
 *   started without this file have the real cost (`cli/server.test.ts`), and `server/sign-in.test.ts` tests it.
 * - BRIDGE_TEST_CLOCK_FROM is the time at which the program believes it starts.
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
parent.resume()
// The pipe is observed but does not keep the process alive: the program exits normally on a signal.
parent.unref()

if (from !== undefined) moveClock(Number(from) - Date.now())
if (pages !== undefined) (await import('./broken-store.ts')).foldEvery(pages)
if (control !== undefined) (await import('./broken-store.ts')).breakStore(control)

const { scrypt } = crypto
crypto.scrypt = (password, salt, length, options, done) =>
  scrypt(password, salt, length, { ...options, N: 16 }, done)
syncBuiltinESMExports()

// Node writes the compile cache once the server is ready, because a killed process never writes it.
process.once('SIGUSR2', () => flushCompileCache())

function moveClock(offsetMs) {
  const Real = Date
  globalThis.Date = class extends Real {
    constructor(...given) {
      super(...(given.length === 0 ? [Real.now() + offsetMs] : given))
    }
    static now() {
      return Real.now() + offsetMs
    }
  }
}
