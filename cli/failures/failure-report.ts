/** Turns anything that a command threw into a message, a hint and an exit code. Contract §12. */
import type { LocalErrorCode, RefusalCode } from '../../sdk/index.ts'
import type { CliContext } from '../context.ts'
import { CommandError, type ExitName, helperExits, localExits, refusalExits } from '../exit-codes.ts'
import type { ExitReport } from './exit-report.ts'
import { failureFacts, failureWords, type SdkError } from './failure-words.ts'
import { hintOf } from './hints.ts'
import { networkIsClosed, sandboxHint } from './sandbox.ts'

export const commandErrorReport = ({ exit, message, hint, cause }: CommandError): ExitReport => ({
  exit,
  message,
  hint,
  ...factsOf(cause),
})

/** Code and details of the SDK error that a CommandError has as its cause. */
function factsOf(cause: unknown): Pick<ExitReport, 'error' | 'facts'> {
  const isSdk = cause instanceof Error && (cause.name === 'BridgeError' || cause.name === 'LocalError')
  if (!isSdk) return {}
  const error = cause as SdkError
  return { error: error.code, facts: failureFacts(error) }
}

/** Returns the report for anything that a command threw. */
export async function failureReport(error: unknown, context: CliContext): Promise<ExitReport> {
  const report = await plainReport(error, context)
  const code =
    (error as { code?: unknown } | null)?.code ??
    (error as { cause?: { code?: unknown } } | null)?.cause?.code
  if (report.exit === 'sandbox') return { ...report, hint: sandboxHint }
  if (report.exit !== 'unreachable' || code !== 'unreachable') return report
  // An unreachable node and a blocked network look the same to a connection.
  return (await networkIsClosed(context.environment))
    ? { ...report, exit: 'sandbox', hint: sandboxHint }
    : report
}

async function plainReport(error: unknown, context: CliContext): Promise<ExitReport> {
  if (context.environment.BRIDGE_DEBUG && error instanceof Error) context.io.err(`${error.stack}\n`)
  if (error instanceof CommandError) return commandErrorReport(error)
  // Imported here, so that a usage error does not load the SDK.
  const { BridgeError, HelperError, LocalError } = await import('../../sdk/index.ts')
  if (error instanceof HelperError)
    return { exit: helperExits[error.code] ?? 'conflict', message: error.message }
  if (error instanceof BridgeError || error instanceof LocalError) {
    return {
      exit: exitOf(error),
      message: failureWords(error, context.current),
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
