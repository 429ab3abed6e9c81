/** The acknowledgement of messages that a command has handled. */
import type { Agent, CliContext } from '../context.ts'
import { failureWords } from '../failures/failure-words.ts'

/**
 * Acknowledges. Resolves to whether the node has stored it. If the node is unreachable, the outbox keeps the
 * acknowledgement. If the node refuses it for now, `ifRefused` says what becomes of it. The command goes on in
 * both cases.
 */
export async function acknowledge(
  context: CliContext,
  { bridge }: Agent,
  ids: readonly string[],
  ifRefused: string,
): Promise<boolean> {
  try {
    await bridge.acknowledgements.create(ids, { signal: context.signal })
    return true
  } catch (error) {
    const { isOutcomeUnknown, isTemporary } = await import('../../sdk/program.ts')
    if (context.signal.aborted) throw error
    const isKept = isOutcomeUnknown(error)
    if (!isKept && !isTemporary(error, 'reading')) throw error
    const what = isKept ? 'the outbox keeps an acknowledgement' : ifRefused
    context.output.note(`${what}: ${failureWords(error as Error)}`)
    return false
  }
}
