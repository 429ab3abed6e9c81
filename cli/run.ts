/**
 * argv → command → exit code. Only this file turns errors into messages.
 *
 * Commands never catch an error to print it. ending.ts defines how an ending is printed.
 *
 * Contract §12.
 */

import { UsageError } from './command.ts'
import type { CliContext } from './context.ts'
import { CommandError, type ExitCode, exitCodes } from './exit-codes.ts'
import { type Ending, printEnding } from './failures/ending.ts'
import { endingOfFailure, failureEnding } from './failures/failure-ending.ts'
import { usageEnding } from './failures/usage.ts'
import { program } from './program.ts'

export async function run(argv: readonly string[], context: CliContext): Promise<ExitCode> {
  const ending = await outputEnding(await endingOf(argv, context), context)
  const hint = ending.hint === undefined ? undefined : context.typed(ending.hint)
  printEnding(context.io, { ...ending, hint }, wantsJson(argv, context))
  return exitCodes[ending.exit]
}

/**
 * Returns whether to print JSON. An invalid command line sets no options, so `--json` is also searched for in
 * argv.
 */
const wantsJson = (argv: readonly string[], { settings }: CliContext): boolean =>
  settings.json || argv.slice(0, [...argv, '--'].indexOf('--')).includes('--json')

/**
 * Turns a success into a failure if standard output could not be written. If the reader closed the pipe
 * (EPIPE) this is no failure. The closed pipe aborts the command, so an aborted command that only prints
 * counts as done. A failure stays unchanged.
 */
async function outputEnding(ending: Ending, { io, onlyPrints, output }: CliContext): Promise<Ending> {
  await io.drained()
  if (io.closedBy === undefined || output.usedStandardError) return ending
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

/**
 * After Ctrl-C the user may think that nothing is sent, so the message names the outbox entry that will still
 * be sent.
 */
function interruptedEnding({ keptIds }: CliContext, error: unknown): Ending {
  const kept = keptIds.at(-1)
  if (kept === undefined) {
    return error instanceof CommandError && error.exit === 'interrupted' ? endingOfFailure(error) : silent
  }
  const message = `interrupted; the outbox keeps ${kept}`
  return {
    exit: 'interrupted',
    message,
    hint: `bridge outbox drop ${kept} discards it; otherwise the next command sends it`,
  }
}

const silent: Ending = { exit: 'interrupted' }
