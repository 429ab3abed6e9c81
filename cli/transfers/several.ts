/** Runs one command for several items at the same time. Each item succeeds or fails separately. */
import type { CliContext } from '../context.ts'
import { CommandError, type ExitName } from '../exit-codes.ts'
import { failureReport } from '../failures/failure-report.ts'

/** More at a time would only share the same network connection. */
const atOnce = 4

/**
 * Runs `act` for each name, at most 4 at a time. If there is one name, its error is the error of the command.
 * If there are several, each error is printed with its name, and the command exits as for the first error.
 *
 * @throws the error of `act` for a single name; CommandError for several
 */
export async function runSeveral(
  context: CliContext,
  names: readonly string[],
  act: (name: string) => Promise<void>,
): Promise<void> {
  const [only] = names
  if (only !== undefined && names.length === 1) return act(only)
  const waiting = [...names]
  const failures: { readonly exit: ExitName; readonly cause: unknown }[] = []
  const work = async () => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      try {
        context.signal.throwIfAborted()
        await act(name)
      } catch (cause) {
        const { exit, message } = await failureReport(cause, context)
        failures.push({ exit, cause })
        if (!context.signal.aborted) context.output.note(`${name}: ${message}`)
      }
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  const [first] = failures
  if (first === undefined) return
  const { exit, cause } = first
  throw new CommandError(exit, `${failures.length} of ${names.length} failed`, { cause })
}
