/** Turns anything that a command threw into a message, a hint and an exit code. Contract §12. */
import type { LocalErrorCode, RefusalCode } from '../../sdk/index.ts'
import type { CliContext } from '../context.ts'
import { CommandError, type ExitName, helperExits, localExits, refusalExits } from '../exit-codes.ts'
import type { Ending } from './ending.ts'
import { failureFacts, failureWords, type SdkError } from './failure-words.ts'
import { hintOf } from './hints.ts'
import { networkIsClosed, sandboxHint } from './sandbox.ts'

export const endingOfFailure = ({ exit, message, hint, cause }: CommandError): Ending => ({
  exit,
  message,
  hint,
  ...factsOf(cause),
})

/** Code and details of the SDK error that a CommandError has as its cause. */
function factsOf(cause: unknown): Pick<Ending, 'error' | 'facts'> {
  const isSdk = cause instanceof Error && (cause.name === 'BridgeError' || cause.name === 'LocalError')
  if (!isSdk) return {}
  const error = cause as SdkError
  return { error: error.code, facts: failureFacts(error) }
}

/** Returns the ending for anything that a command threw. */
export async function failureEnding(error: unknown, context: CliContext): Promise<Ending> {
  const ending = await plainEnding(error, context)
  const code =
    (error as { code?: unknown } | null)?.code ??
    (error as { cause?: { code?: unknown } } | null)?.cause?.code
  if (ending.exit === 'sandbox') return { ...ending, hint: sandboxHint }
  if (ending.exit !== 'unreachable' || code !== 'unreachable') return ending
  // An unreachable node and a blocked network look the same to a connection.
  return (await networkIsClosed(context.environment))
    ? { ...ending, exit: 'sandbox', hint: sandboxHint }
    : ending
}

async function plainEnding(error: unknown, context: CliContext): Promise<Ending> {
  if (context.environment.BRIDGE_DEBUG && error instanceof Error) context.io.err(`${error.stack}\n`)
  if (error instanceof CommandError) return endingOfFailure(error)
  // Imported here, so that a usage error does not load the SDK.
  const { BridgeError, HelperError, LocalError } = await import('../../sdk/index.ts')
  if (error instanceof HelperError)
    return { exit: helperExits[error.code] ?? 'conflict', message: error.message }
  if (error instanceof BridgeError || error instanceof LocalError) {
    return {
      exit: exitOf(error),
      message: failureWords(error, context.takes),
      hint: hintOf(error, context),
      ...factsOf(error),
    }
  }
  const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
  return { exit: 'unexpected', message, hint: 'BRIDGE_DEBUG=1 shows where it happened' }
}

function exitOf(error: SdkError): ExitName {
  if (error.name === 'BridgeError') return refusalExits[error.code as RefusalCode]
  return localExits[error.code as LocalErrorCode]
}
