/**
 * Moves an installation and kills its own process at a step. Its arguments are JSON of the options of the move,
 * and the name of the step, or none if it is not to be killed. At the step `half` half of the rows are copied.
 */
import { randomBytes } from 'node:crypto'
import { moveToDatabase, moveToFolder } from '../../../server/main.ts'

const { to, ...given } = JSON.parse(process.argv[2] ?? '') as {
  readonly data: string
  readonly url: string
  readonly to?: string
}
const options = {
  ...given,
  envelopeKeyFile: `${given.data}/envelope.key`,
  clock: () => new Date(),
  random: randomBytes,
  signal: new AbortController().signal,
  onProgress(done: number, total: number) {
    if (process.argv[3] === 'half' && done * 2 >= total) process.kill(process.pid, 'SIGKILL')
  },
  onStep(step: string) {
    if (step === process.argv[3]) process.kill(process.pid, 'SIGKILL')
  },
}
const report =
  to === undefined
    ? await moveToDatabase({ ...options, keepSettings: async () => {} })
    : await moveToFolder({ ...options, to })
process.stdout.write(`${JSON.stringify(report)}\n`)
