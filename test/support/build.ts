/**
 * Vitest's global set-up: builds the program that tests start, and makes temporary folders for all other
 * files.
 *
 * Each run builds the program as it is published, because the bundle starts in half the time of its sources.
 * The bundle lies where Node finds its packages. All folders belong to this run alone. At the end of the run
 * they are removed, and the run fails if a process of the program is still alive.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startPostgres } from './postgres-server.ts'
import { lastOf, processesOf } from './remains.ts'
import { makeTemporary } from './temporary.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

export default async function build(): Promise<() => Promise<void>> {
  // The first project of this run has already built the program.
  if (process.env.BRIDGE_TEST_PROGRAM !== undefined) return async () => {}
  const cache = join(root, 'node_modules/.cache')
  mkdirSync(cache, { recursive: true })
  const folder = mkdtempSync(join(cache, 'program-'))
  execFileSync(process.execPath, ['esbuild.config.ts', folder, '--no-types'], { cwd: root, stdio: 'inherit' })
  // `program.ts` reads this variable in the processes of the tests.
  process.env.BRIDGE_TEST_PROGRAM = folder
  // Two hundred processes of tests load the same packages, so Node compiles them once.
  process.env.NODE_COMPILE_CACHE = join(folder, 'compiled')
  // `leftovers.ts` reads these variables.
  const { disk, memory } = makeTemporary()
  process.env.BRIDGE_TEST_DISK = disk
  process.env.BRIDGE_TEST_MEMORY = memory
  const stopPostgres = await startPostgres(memory)
  return async () => {
    stopPostgres()
    // The workers of Vitest have the folder only in their environment, so only command lines are compared.
    const left = await lastOf(() => processesOf(folder).filter((each) => each.includes(folder)))
    for (const each of [folder, disk, memory]) rmSync(each, { recursive: true, force: true })
    if (left.length > 0) throw new Error(`the tests leave behind: ${left.join(', ')}`)
  }
}
