/**
 * Maintenance in a separate process that a test kills. Argument: the data folder. Prints `open` when it
 * begins, and its result if it finishes.
 */
import { maintain } from '../../../server/host/init.ts'
import { testConfig } from '../../support/config.ts'

process.stdout.write('open\n')
const report = await maintain(testConfig(process.argv[2] ?? ''), new AbortController().signal)
process.stdout.write(`${JSON.stringify(report)}\n`)
