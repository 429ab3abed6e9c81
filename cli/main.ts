/** `bridge`. */
import { processContext } from './context.ts'
import { run } from './run.ts'

void run(process.argv.slice(2), processContext()).then((code) => {
  process.exitCode = code
})
