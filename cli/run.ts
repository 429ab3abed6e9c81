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
  const ending = await endingOf(argv, context)
  if (ending.message !== undefined && ending.message !== '') {
    context.io.err(`bridge: ${oneLine(ending.message)}\n`)
    if (ending.hint !== undefined) context.io.err(`hint: ${oneLine(ending.hint)}\n`)
  }
  await context.io.drained()
  return exitCodes[ending.exit]
}

async function endingOf(argv: readonly string[], context: CliContext): Promise<Ending> {
  try {
    await program(context).parseAsync([...argv], { from: 'user' })
    return { exit: 'done' }
  } catch (error) {
    // The reader of our output went away: nobody is left to tell, and nothing is wrong.
    if (context.io.isClosed) return { exit: 'done' }
    if (context.signal.aborted) return { exit: 'interrupted' }
    if (error instanceof CommanderError) return usageEnding(error)
    return failureEnding(error, context)
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

/** Words and exit code of anything that a command threw. */
export async function failureEnding(error: unknown, context: CliContext): Promise<Ending> {
  if (error instanceof CommandFailure) return { exit: error.exit, message: error.message, hint: error.hint }
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
