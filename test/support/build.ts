/**
 * The program that tests start: built once a run, as it is published, because it starts in half the time of its sources.
 *
 * Vitest's global set-up. It lies where its packages are found, and is gone with the next `npm ci`.
 */
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { builtFolder } from './program.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

export default function build(): void {
  execFileSync(process.execPath, ['esbuild.config.ts', builtFolder, '--no-types'], {
    cwd: root,
    stdio: 'inherit',
  })
}
