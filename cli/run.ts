/**
 * argv → command → exit code. Only this file turns errors into messages.
 *
 * Commands never catch an error to print it. `exit-report.ts` defines how that is printed.
 *
 * Contract §12.
 */

import { UsageError } from './command.ts'
import type { CliContext } from './context.ts'
import { processContext } from './create-context.ts'
import { CommandError, type ExitCode, exitCodes } from './exit-codes.ts'
import { type ExitReport, printExitReport } from './failures/exit-report.ts'
import { commandErrorReport, failureReport } from './failures/failure-report.ts'
import { usageReport } from './failures/usage.ts'
import { program } from './program.ts'

/** Runs the command of this process and sets its exit code. */
export async function runProcess(): Promise<void> {
  process.exitCode = await run(process.argv.slice(2), processContext())
}

export async function run(argv: readonly string[], context: CliContext): Promise<ExitCode> {
  const report = await outputReport(await reportOf(argv, context), context)
  await context.ids.settled()
  const isJson = wantsJson(argv, context)
  const shown = (text: string) => (isJson ? text : context.ids.shorten(text))
  const { message, hint } = report
  const texts = {
    ...(message !== undefined && { message: shown(message) }),
    ...(hint !== undefined && { hint: shown(context.typed(hint)) }),
  }
  printExitReport(context.io, { ...report, ...texts }, isJson)
  return exitCodes[report.exit]
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
async function outputReport(report: ExitReport, { io, onlyPrints, output }: CliContext): Promise<ExitReport> {
  await io.drained()
  if (io.closedBy === undefined || output.usedStandardError) return report
  const isCutOff = onlyPrints && report.exit === 'interrupted'
  if (io.closedBy === 'EPIPE') return isCutOff ? { exit: 'done' } : report
  if (report.exit !== 'done' && !isCutOff) return report
  return { exit: 'unexpected', message: `cannot write to standard output (${io.closedBy})` }
}

async function reportOf(argv: readonly string[], context: CliContext): Promise<ExitReport> {
  try {
    const root = await program(context, argv)
    await root.parseAsync([...argv], { from: 'user' })
    return { exit: 'done' }
  } catch (error) {
    if (context.signal.aborted && !isFailedEnd(error)) return interruptedReport(context, error)
    if (error instanceof UsageError) {
      // Commander objects before the hook that configures; the hint has to name the profile too.
      context.configure(error.command.optsWithGlobals())
      return usageReport(error, () => program(context))
    }
    return failureReport(error, context)
  }
}

/** A node that fails while it stops says so, although the user interrupted it. */
const isFailedEnd = (error: unknown): boolean => error instanceof CommandError && error.exit === 'unexpected'

/**
 * After Ctrl-C the user may think that nothing is sent, so the message names the outbox entry that will still
 * be sent.
 */
function interruptedReport({ keptIds }: CliContext, error: unknown): ExitReport {
  const kept = keptIds.at(-1)
  if (kept === undefined) {
    return error instanceof CommandError && error.exit === 'interrupted' ? commandErrorReport(error) : silent
  }
  const message = `interrupted; the outbox keeps ${kept}`
  return {
    exit: 'interrupted',
    message,
    hint: `bridge outbox drop ${kept} discards it; otherwise the next command sends it`,
  }
}

const silent: ExitReport = { exit: 'interrupted' }
