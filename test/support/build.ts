/**
 * Vitest's global set-up: the program that tests start, and a temporary folder for everything else.
 *
 * The program is built for each run, as it is published, because it starts in half the time of its sources. Its folder
 * lies where its packages are found. Both folders belong to this run alone. At its end they are removed, and no process
 * of the program may be left.
 */
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { lastOf, processesOf } from './remains.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

export default function build(): () => Promise<void> {
  // The first project of this run has built it.
  if (process.env.BRIDGE_TEST_PROGRAM !== undefined) return async () => {}
  const cache = join(root, 'node_modules/.cache')
  mkdirSync(cache, { recursive: true })
  const folder = mkdtempSync(join(cache, 'program-'))
  execFileSync(process.execPath, ['esbuild.config.ts', folder, '--no-types'], { cwd: root, stdio: 'inherit' })
  // Read by `program.ts` in the processes of the tests.
  process.env.BRIDGE_TEST_PROGRAM = folder
  // Two hundred processes of tests load the same packages: Node compiles them once.
  process.env.NODE_COMPILE_CACHE = join(folder, 'compiled')
  // Read by `leftovers.ts`. Some tests start programs as another user.
  const temporary = mkdtempSync(join(tmpdir(), 'bridge-tests-'))
  chmodSync(temporary, 0o755)
  process.env.BRIDGE_TEST_TEMPORARY = temporary
  return async () => {
    // The workers of Vitest name the folder in their environment.
    const left = await lastOf(() => processesOf(folder).filter((each) => each.includes(folder)))
    for (const each of [folder, temporary]) rmSync(each, { recursive: true, force: true })
    if (left.length > 0) throw new Error(`the tests leave behind: ${left.join(', ')}`)
  }
}
