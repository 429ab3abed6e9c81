/**
 * argv → command → exit code: the only place where errors become words.
 *
 * One line `bridge: …` on standard error, and at most one `hint: …`. Commands never catch to print.
 *
 * Contract §12.
 */
import { CommanderError } from './command.ts'
import type { CliContext } from './context.ts'
import {
  CommandFailure,
  type ExitCode,
  type ExitName,
  exitCodes,
  localExits,
  refusalExits,
} from './exit-codes.ts'
import { hintOf } from './hints.ts'
import { oneLine } from './plain-text.ts'
import { program } from './program.ts'

export interface Ending {
  readonly exit: ExitName
  /** Absent: nothing to say. */
  readonly message?: string
  readonly hint?: string | undefined
}

export async function run(argv: readonly string[], context: CliContext): Promise<ExitCode> {
  const ending = await outputEnding(await endingOf(argv, context), context)
  if (ending.message !== undefined && ending.message !== '') {
    context.io.err(`bridge: ${oneLine(ending.message)}\n`)
    if (ending.hint !== undefined) context.io.err(`hint: ${oneLine(ending.hint)}\n`)
  }
  return exitCodes[ending.exit]
}

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
    if (error instanceof CommanderError) return usageEnding(error)
    return failureEnding(error, context)
  }
}

/** Who breaks off a send believes that nothing was sent; what the outbox keeps goes out all the same. */
function interruptedEnding({ keptIds }: CliContext, error: unknown): Ending {
  const kept = keptIds.at(-1)
  if (kept === undefined) {
    return error instanceof CommandFailure && error.exit === 'interrupted' ? endingOfFailure(error) : silent
  }
  const message = `interrupted; the outbox keeps ${kept}`
  return {
    exit: 'interrupted',
    message,
    hint: `bridge outbox drop ${kept} gives it up; else it goes out with the next command`,
  }
}

/** Help and version are what was asked for; everything else that commander objects to is a usage error. */
function usageEnding(error: CommanderError): Ending {
  if (error.exitCode === 0) return { exit: 'done' }
  // A bare group: commander has shown its help.
  if (error.code === 'commander.help') return { exit: 'usage' }
  const [message = '', suggestion] = error.message.split('\n')
  const hint = suggestion?.replace(/^\((.*)\)$/, '$1').toLowerCase() ?? 'bridge --help lists the commands'
  return { exit: 'usage', message: message.replace(/^error: /, ''), hint }
}

const silent: Ending = { exit: 'interrupted' }

const endingOfFailure = ({ exit, message, hint }: CommandFailure): Ending => ({ exit, message, hint })

/** Words and exit code of anything that a command threw. */
export async function failureEnding(error: unknown, context: CliContext): Promise<Ending> {
  if (error instanceof CommandFailure) return endingOfFailure(error)
  // Loaded only now: a usage error must not pay for it.
  const { BridgeError, LocalError } = await import('../sdk/index.ts')
  if (error instanceof BridgeError) {
    return { exit: refusalExits[error.code], message: error.message, hint: hintOf(error, context) }
  }
  if (error instanceof LocalError) {
    const exit = error.code === 'unreachable' && context.isSandboxed ? 'sandbox' : localExits[error.code]
    return { exit, message: error.message, hint: hintOf(error, context) }
  }
  const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
  if (context.environment.BRIDGE_DEBUG !== undefined && error instanceof Error)
    context.io.err(`${error.stack}\n`)
  return { exit: 'unexpected', message, hint: 'BRIDGE_DEBUG=1 shows where it happened' }
}
