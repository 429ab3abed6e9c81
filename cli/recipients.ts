/** What `listen` does with a page: show its new messages, or run a command for each. Contract §12. */
import type { Journal, OfferedMessage, ReceivedPage } from '../sdk/index.ts'
import type { Agent } from './agent.ts'
import type { CliContext } from './context.ts'
import { messageText } from './message-text.ts'
import { type CommandEnd, runForMessage } from './run-for-message.ts'

/** True when the page held something new. */
export type Recipient = (page: Pick<ReceivedPage, 'messages'>) => Promise<boolean>

export interface Receiving {
  readonly context: CliContext
  readonly agent: Agent
  readonly journal: Journal
  readonly options: { readonly exec?: string; readonly ack: 'journal' | 'manual' }
}

/** Record, print, and with `--ack journal` acknowledge what was printed. */
export function shower({ context, agent, journal, options }: Receiving): Recipient {
  const { io, output, clock } = context
  return async ({ messages }) => {
    // An `ask` beside this one may have shown some of them.
    await journal.catchUp()
    const fresh = messages.filter(({ id }) => !journal.has(id))
    await journal.record(fresh)
    const reader = { project: agent.profile.identity.project.name, now: clock() }
    for (const message of fresh) output.item(message, `${messageText(message, reader)}\n`)
    await io.drained()
    // Recorded long ago, but the acknowledgement was lost: with `journal` a redelivery is acknowledged too.
    if (options.ack === 'journal' && io.closedBy === undefined) {
      await acknowledge(
        context,
        agent,
        messages.map(({ id }) => id),
      )
    }
    return fresh.length > 0
  }
}

/** Record, run the command, and acknowledge when it exits 0. A redelivery is a new try, unless the command succeeded. */
export function runner({ context, agent, journal, options }: Receiving): Recipient {
  const { output, signal } = context
  const { exec: command = '' } = options
  return async ({ messages }) => {
    await journal.catchUp()
    await journal.record(messages.filter(({ id }) => !journal.has(id)))
    let ran = false
    for (const message of messages) {
      if (signal.aborted) break
      if (!journal.isDone(message.id)) {
        ran = true
        const end = await runForMessage(command, message, signal)
        output.note(endText(message, end))
        if (end.code !== 0) continue
        await journal.recordDone([message.id])
      }
      await acknowledge(context, agent, [message.id])
    }
    return ran
  }
}

/** Acknowledge; while the node is away the outbox keeps it, and listening goes on. */
async function acknowledge(context: CliContext, { bridge }: Agent, ids: readonly string[]): Promise<void> {
  try {
    await bridge.acknowledgements.create(ids, { signal: context.signal })
  } catch (error) {
    const { isOutcomeUnknown } = await import('../sdk/index.ts')
    if (context.signal.aborted || !isOutcomeUnknown(error)) throw error
    context.output.note(`the outbox keeps an acknowledgement: ${(error as Error).message}`)
  }
}

function endText({ id }: OfferedMessage, { code, signal }: CommandEnd): string {
  if (code === 0) return `handled and acknowledged ${id}`
  const how = code === null ? `was ended by ${signal}` : `exited ${code}`
  return `the command ${how} for ${id}, which comes again`
}
