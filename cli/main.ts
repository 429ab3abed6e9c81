/** Entry point of `bridge` after the checks of launch.ts. */

import { processContext } from './create-context.ts'
import { run } from './run.ts'
import { startsHelper } from './startup/starts-helper.ts'

const words = process.argv.slice(2)

if (startsHelper(words)) {
  void import('../helper/main.ts').then(({ runHelper }) => runHelper(words.slice(1)))
} else {
  void run(words, processContext()).then((code) => {
    process.exitCode = code
  })
}
