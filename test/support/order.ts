/**
 * The order of the test files: the same on every machine and in every run, or the order of a seed.
 *
 * By default Vitest orders files by the durations of the last run, so files that share a process would run in
 * another order on each machine. `--sequence.shuffle.files --sequence.seed=7` gives the order of seed 7.
 */
import { createHash } from 'node:crypto'
import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** The longest files, started first so that none of them runs last. */
const first = [
  'test/faults/cluster/short.test.ts',
  'test/faults/postgres/listen-standby.test.ts',
  'test/faults/postgres/set-clock.test.ts',
  'test/faults/postgres/stop.test.ts',
  'test/faults/durability.test.ts',
  'test/sdk/delivery/fall-back.test.ts',
  'test/server/sign-in.test.ts',
  'test/server/endpoints/endpoints.test.ts',
  'test/cli/server.test.ts',
  'test/cli/up.test.ts',
  'test/cli/tls.test.ts',
  'test/faults/power-cut.test.ts',
  'test/sdk/delivery/restart.test.ts',
  'test/journeys/thousands.test.ts',
]

const shuffles = process.argv.some((word) => /^--sequence\.shuffle(?!\.tests)/.test(word))

/**
 * Runs files with a separate process before those that share one: Vitest ends a shared process when a file of
 * another project takes its place.
 */
export class FileOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { root, sequence } = this.ctx.config
    if (shuffles) this.ctx.logger.log(`files in the order of --sequence.seed=${sequence.seed}`)
    const place = (path: string): string => {
      if (shuffles) return createHash('sha256').update(`${sequence.seed} ${path}`).digest('hex')
      const index = first.includes(path) ? first.indexOf(path) : first.length
      return `${String(index).padStart(3, '0')} ${path}`
    }
    return files
      .map((file) => ({ file, key: `${file.project.name} ${place(relative(root, file.moduleId))}` }))
      .toSorted((one, other) => (one.key < other.key ? -1 : 1))
      .map(({ file }) => file)
  }
}
