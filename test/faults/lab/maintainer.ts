/**
 * Maintenance in a process of its own, to be killed. Argument: the data folder. Says `open` when it begins, and what it
 * did when it ended by itself.
 */
import { maintain } from '../../../server/host/init.ts'

process.stdout.write('open\n')
const report = await maintain({ data: process.argv[2] ?? '' }, new AbortController().signal)
process.stdout.write(`${JSON.stringify(report)}\n`)
