/**
 * Loaded into the server program before it starts, by `process.ts`.
 *
 * - The program ends with its parent: standard input closes when the parent dies, whatever it died of. The temporary
 *   folder goes with it.
 * - BRIDGE_TEST_CLOCK_FROM is the time at which it believes to start.
 * - BRIDGE_TEST_CONTROL breaks the store on purpose (`test/support/broken-store.ts`); the product has no such switch.
 * - BRIDGE_TEST_FOLD_EVERY is how many pages the log has when it is folded into the file.
 *
 * Plain JavaScript: Node's reader of TypeScript would be measured with the program's memory, and started with each server.
 */
import { rmSync } from 'node:fs'
import { flushCompileCache } from 'node:module'

const { BRIDGE_TEST_FOLDER: folder, BRIDGE_TEST_CONTROL: control, BRIDGE_TEST_CLOCK_FROM: from } = process.env
const { BRIDGE_TEST_FOLD_EVERY: pages } = process.env

const parent = process.stdin
parent.once('end', () => {
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
  process.exit(3)
})
parent.resume()
// Watched, and not waited for: the program ends by itself when it is told to.
parent.unref()

if (from !== undefined) moveClock(Number(from) - Date.now())
if (pages !== undefined) (await import('./broken-store.ts')).foldEvery(pages)
if (control !== undefined) (await import('./broken-store.ts')).breakStore(control)

// What was compiled is written down once the server is ready; one that is killed writes nothing any more.
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
