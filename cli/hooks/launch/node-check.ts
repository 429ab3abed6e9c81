/** Asks the node, before a harness starts, whether it accepts the profile. Starts no session. */
import type { CliContext } from '../../context.ts'
import { type ExitReport, printExitReport } from '../../failures/exit-report.ts'
import { failureReport } from '../../failures/failure-report.ts'
import { readObject } from '../files.ts'

const patienceMs = 2000

/**
 * Says on standard error why the session gets neither notices nor tools. The harness starts in every case: its work
 * does not depend on the node, and its hooks work as soon as the reason is gone.
 */
export async function sayIfRefused(context: CliContext, title: string, sessionFile: string): Promise<void> {
  const late = AbortSignal.timeout(patienceMs)
  const signal = AbortSignal.any([context.signal, late])
  try {
    const { bridge } = await context.agent()
    await bridge.bootstrap.get({ signal })
    // A session that another instance took over is refused here, and not above.
    if (typeof readObject(sessionFile)?.session_id === 'string') await bridge.inbox.list({ limit: 1, signal })
  } catch (error) {
    context.signal.throwIfAborted()
    const report = late.aborted ? tooLate : await failureReport(error, context)
    const { message, hint } = report
    const texts = {
      message: `${title} starts, but gets no mail: ${message}`,
      ...(hint !== undefined && { hint: context.typed(hint) }),
    }
    printExitReport(context.io, { ...report, ...texts }, false)
  }
}

const tooLate: ExitReport = {
  exit: 'unreachable',
  message: `the node did not answer within ${patienceMs / 1000} seconds`,
  hint: 'notices begin when it answers; bridge doctor shows more',
}
