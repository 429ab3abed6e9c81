/** What `listen` does with messages: show those that nobody was shown, or run a command for each. Contract §12. */
import type { Journal, Message } from '../../sdk/program.ts'
import { isAwaited } from '../../sdk/storage/open-asks.ts'
import type { CliContext } from '../context.ts'
import { type CommandEnd, runForMessage } from '../exec/run-for-message.ts'
import type { ShellCommands } from '../exec/shell-commands.ts'
import { failureWords } from '../failures/failure-words.ts'
import type { Agent } from '../profile/agent.ts'
import { messageText } from './message-text.ts'
import { readerOf } from './opened-bodies.ts'

/** True when there was something new. */
export type MessageHandler = (messages: readonly Message[]) => Promise<boolean>

export interface HandlerOptions {
  readonly context: CliContext
  readonly agent: Agent
  readonly journal: Journal
  readonly options: { readonly exec?: string; readonly ack: 'journal' | 'manual' }
}

/**
 * Record, print, note that it was printed, and with `--ack journal` acknowledge what was printed.
 *
 * What could not be written is not noted: the next `listen` prints it.
 */
export function printMessages(receiving: HandlerOptions): MessageHandler {
  const { context, agent, journal, options } = receiving
  return async (messages) => {
    const fresh = (await recorded(receiving, messages)).filter(({ id }) => !journal.isPrinted(id))
    const printed = await printAll(receiving, fresh)
    // Printed long ago, but the acknowledgement was lost: with `journal` a redelivery is acknowledged too.
    const shown = messages.map(({ id }) => id).filter((id) => journal.isPrinted(id))
    const isRead = context.io.closedBy === undefined
    if (options.ack === 'journal' && isRead && shown.length > 0) await acknowledge(context, agent, shown)
    return printed > 0
  }
}

/** How many were written; it ends where nothing can be written any more. */
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

/** Record, run the command, and acknowledge when it exits 0. A redelivery is a new try, unless the command succeeded. */
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
      await acknowledge(context, agent, [message.id])
    }
    return ran
  }
}

/**
 * Record what is new. An `ask` beside this one may have shown some of it; the answer that one waits for now is left to
 * it, so that nobody is told twice. Should it end without, the answer comes again.
 */
async function recorded(
  { agent, journal }: HandlerOptions,
  messages: readonly Message[],
): Promise<Message[]> {
  await journal.catchUp()
  await journal.record(messages.filter(({ id }) => !journal.has(id)))
  const mine: Message[] = []
  for (const message of messages) if (!(await isAwaited(agent.paths.asks, message))) mine.push(message)
  // An asker notes the answer as printed before it releases it, so the note of a released answer is there by now.
  await journal.catchUp()
  return mine
}

/** Acknowledge; while the node is away the outbox keeps it, and listening goes on. */
async function acknowledge(context: CliContext, { bridge }: Agent, ids: readonly string[]): Promise<void> {
  try {
    await bridge.acknowledgements.create(ids, { signal: context.signal })
  } catch (error) {
    const { isOutcomeUnknown } = await import('../../sdk/index.ts')
    if (context.signal.aborted || !isOutcomeUnknown(error)) throw error
    context.output.note(`the outbox keeps an acknowledgement: ${failureWords(error as Error)}`)
  }
}

function endText({ id }: Message, { code, signal }: CommandEnd): string {
  if (code === 0) return `handled and acknowledged ${id}`
  const how = code === null ? `was ended by ${signal}` : `exited ${code}`
  return `the command ${how} for ${id}, which comes again`
}
