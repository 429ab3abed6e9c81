/** Message handlers of `listen`: print each message once, or run a command for each. Contract §12. */
import type { Journal, Message } from '../../sdk/program.ts'
import { isAwaited } from '../../sdk/storage/open-asks.ts'
import type { Agent, CliContext } from '../context.ts'
import { type CommandEnd, runForMessage } from '../exec/run-for-message.ts'
import type { ShellCommands } from '../exec/shell-commands.ts'
import { acknowledge } from './acknowledge.ts'
import { messageText } from './message-text.ts'
import { readerOf } from './opened-bodies.ts'

/** Handles messages. Resolves to true if any was new. */
export type MessageHandler = (messages: readonly Message[]) => Promise<boolean>

export interface HandlerOptions {
  readonly context: CliContext
  readonly agent: Agent
  readonly journal: Journal
  readonly options: { readonly exec?: string; readonly ack: 'journal' | 'manual' }
}

/**
 * Records each message, prints it, and notes that it was printed. With `--ack journal`, acknowledges printed
 * messages.
 *
 * A message that could not be written is not noted as printed, so the next `listen` prints it.
 */
export function printMessages(receiving: HandlerOptions): MessageHandler {
  const { context, agent, journal, options } = receiving
  return async (messages) => {
    const fresh = (await recorded(receiving, messages)).filter(({ id }) => !journal.isPrinted(id))
    const printed = await printAll(receiving, fresh)
    // A redelivered message was printed before, but its acknowledgement was lost. It is acknowledged again.
    const shown = messages.map(({ id }) => id).filter((id) => journal.isPrinted(id))
    const isRead = context.io.closedBy === undefined
    if (options.ack === 'journal' && isRead && shown.length > 0) await acknowledged(context, agent, shown)
    return printed > 0
  }
}

/** Returns how many messages were written. Stops when standard output can no longer be written. */
async function printAll({ context, agent, journal }: HandlerOptions, messages: readonly Message[]) {
  const reader = await readerOf(agent, messages)
  let printed = 0
  for (const message of messages) {
    if (!(await context.output.handOver(message, `${messageText(message, reader)}\n`))) break
    await journal.recordPrinted([message.id])
    printed += 1
  }
  return printed
}

/**
 * Records each message, runs the command for it, and acknowledges it if the command exits 0. For a
 * redelivered message the command runs again, unless it succeeded before.
 */
export function runForMessages(receiving: HandlerOptions, shell: ShellCommands): MessageHandler {
  const { context, agent, journal, options } = receiving
  const { output, signal } = context
  const run = { shell, command: options.exec ?? '', environment: context.environment }
  return async (messages) => {
    let ran = false
    for (const message of await recorded(receiving, messages)) {
      if (signal.aborted) break
      if (!journal.isDone(message.id)) {
        ran = true
        const end = await runForMessage(run, message, signal)
        output.note(endText(message, end))
        if (end.code !== 0) continue
        await journal.recordDone([message.id])
      }
      await acknowledged(context, agent, [message.id])
    }
    return ran
  }
}

/**
 * Records new messages and returns those to handle. An answer that a running `ask` of this profile waits for
 * is left to that `ask`, so that it is shown once. If the `ask` ends without it, the node delivers the answer
 * again.
 */
async function recorded(
  { agent, journal }: HandlerOptions,
  messages: readonly Message[],
): Promise<Message[]> {
  await journal.catchUp()
  await journal.record(messages.filter(({ id }) => !journal.has(id)))
  const mine: Message[] = []
  for (const message of messages) if (!(await isAwaited(agent.paths.asks, message))) mine.push(message)
  // An asker notes the answer as printed before it releases it, so the note of a released answer is there by
  // now.
  await journal.catchUp()
  return mine
}

/** The node delivers the messages again, and the handler acknowledges them then. */
const acknowledged = (context: CliContext, agent: Agent, ids: readonly string[]): Promise<boolean> =>
  acknowledge(context, agent, ids, 'an acknowledgement is repeated later')

function endText({ id }: Message, { code, signal }: CommandEnd): string {
  if (code === 0) return `handled and acknowledged ${id}`
  const how = code === null ? `was ended by ${signal}` : `exited ${code}`
  return `the command ${how} for ${id}, which will be delivered again`
}
