/**
 * argv → command → exit code: the only place where errors become words.
 *
 * Commands never catch to print; how it is told stands in ending.ts.
 *
 * Contract §12.
 */

import { UsageError } from './command.ts'
import type { CliContext } from './context.ts'
import { CommandError, type ExitCode, exitCodes } from './exit-codes.ts'
import { type Ending, tellEnding } from './failures/ending.ts'
import { endingOfFailure, failureEnding } from './failures/failure-ending.ts'
import { usageEnding } from './failures/usage.ts'
import { program } from './program.ts'

export async function run(argv: readonly string[], context: CliContext): Promise<ExitCode> {
  const ending = await outputEnding(await endingOf(argv, context), context)
  const hint = ending.hint === undefined ? undefined : context.typed(ending.hint)
  tellEnding(context.io, { ...ending, hint }, wantsJson(argv, context))
  return exitCodes[ending.exit]
}

/** A command line that is wrong was not taken in: whether it asks for JSON is seen from its words. */
const wantsJson = (argv: readonly string[], { settings }: CliContext): boolean =>
  settings.json || argv.slice(0, [...argv, '--'].indexOf('--')).includes('--json')

/**
 * A result that nobody got is no success, unless its reader went away by choice; then what only prints is done. A failure
 * stays what it is.
 */
async function outputEnding(ending: Ending, { io, onlyPrints, output }: CliContext): Promise<Ending> {
  await io.drained()
  if (io.closedBy === undefined || output.isToldElsewhere) return ending
  const isCutOff = onlyPrints && ending.exit === 'interrupted'
  if (io.closedBy === 'EPIPE') return isCutOff ? { exit: 'done' } : ending
  if (ending.exit !== 'done' && !isCutOff) return ending
  return { exit: 'unexpected', message: `cannot write to standard output (${io.closedBy})` }
}

async function endingOf(argv: readonly string[], context: CliContext): Promise<Ending> {
  try {
    const root = await program(context, argv)
    await root.parseAsync([...argv], { from: 'user' })
    return { exit: 'done' }
  } catch (error) {
    if (context.signal.aborted) return interruptedEnding(context, error)
    if (error instanceof UsageError) return usageEnding(error, () => program(context))
    return failureEnding(error, context)
  }
}

/** Who breaks off a send believes that nothing was sent; what the outbox keeps goes out all the same. */
function interruptedEnding({ keptIds }: CliContext, error: unknown): Ending {
  const kept = keptIds.at(-1)
  if (kept === undefined) {
    return error instanceof CommandError && error.exit === 'interrupted' ? endingOfFailure(error) : silent
  }
  const message = `interrupted; the outbox keeps ${kept}`
  return {
    exit: 'interrupted',
    message,
    hint: `bridge outbox drop ${kept} gives it up; else it goes out with the next command`,
  }
}

const silent: Ending = { exit: 'interrupted' }
