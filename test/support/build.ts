/**
 * The program that tests start: built for each run, as it is published, because it starts in half the time of its sources.
 *
 * Vitest's global set-up. The folder lies where its packages are found, belongs to this run alone, and goes with it.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))

export default function build(): () => void {
  // The first project of this run has built it.
  if (process.env.BRIDGE_TEST_PROGRAM !== undefined) return () => {}
  const cache = join(root, 'node_modules/.cache')
  mkdirSync(cache, { recursive: true })
  const folder = mkdtempSync(join(cache, 'program-'))
  execFileSync(process.execPath, ['esbuild.config.ts', folder, '--no-types'], { cwd: root, stdio: 'inherit' })
  // Read by `program.ts` in the processes of the tests.
  process.env.BRIDGE_TEST_PROGRAM = folder
  // Two hundred processes of tests load the same packages: Node compiles them once.
  process.env.NODE_COMPILE_CACHE = join(folder, 'compiled')
  return () => rmSync(folder, { recursive: true, force: true })
}
