/** One command over several things at once: each succeeds or fails by itself. */
import type { CliContext } from '../context.ts'
import { CommandError, type ExitName } from '../exit-codes.ts'
import { failureEnding } from '../failures/failure-ending.ts'

/** More would only wait for each other on one line. */
const atOnce = 4

/**
 * `act` on each of them. Of one alone the failure is the command's; of several each is told with its name when it comes, and
 * the command fails as the first one did.
 *
 * @throws what `act` throws of one; CommandError
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
        const { exit, message } = await failureEnding(cause, context)
        failures.push({ exit, cause })
        if (!context.signal.aborted) context.output.note(`${name}: ${message}`)
      }
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  const [first] = failures
  if (first === undefined) return
  const { exit, cause } = first
  throw new CommandError(exit, `${failures.length} of ${names.length} came to nothing`, { cause })
}
