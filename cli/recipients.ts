/** What `listen` does with a page: show its new messages, or run a command for each. Contract §12. */
import type { Journal, OfferedMessage, ReceivedPage } from '../sdk/index.ts'
import type { Agent } from './agent.ts'
import type { CliContext } from './context.ts'
import { messageText } from './message-text.ts'
import { type CommandEnd, runForMessage } from './run-for-message.ts'

/** True when the page held something new. */
export type Recipient = (page: ReceivedPage) => Promise<boolean>

export interface Receiving {
  readonly context: CliContext
  readonly agent: Agent
  readonly journal: Journal
  readonly options: { readonly exec?: string; readonly ack: 'journal' | 'manual' }
}

/** Record, print, and with `--ack journal` acknowledge what was printed. */
export function shower({ context, agent, journal, options }: Receiving): Recipient {
  const { io, output, clock, signal } = context
  return async ({ messages }) => {
    const fresh = messages.filter(({ id }) => !journal.has(id))
    await journal.record(fresh)
    const reader = { project: agent.profile.identity.project.name, now: clock() }
    for (const message of fresh) output.item(message, `${messageText(message, reader)}\n`)
    await io.drained()
    // Recorded long ago, but the acknowledgement was lost: with `journal` a redelivery is acknowledged too.
    const toAcknowledge = options.ack === 'journal' && !io.isClosed ? messages : []
    await agent.bridge.acknowledgements.create(
      toAcknowledge.map(({ id }) => id),
      { signal },
    )
    return fresh.length > 0
  }
}

/** Record, run the command, and acknowledge when it exits 0. A redelivery is a new try, unless the command succeeded. */
export function runner({ context, agent, journal, options }: Receiving): Recipient {
  const { output, signal } = context
  const { exec: command = '' } = options
  return async ({ messages }) => {
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
      await agent.bridge.acknowledgements.create([message.id], { signal })
    }
    return ran
  }
}

function endText({ id }: OfferedMessage, { code, signal }: CommandEnd): string {
  if (code === 0) return `handled and acknowledged ${id}`
  const how = code === null ? `was ended by ${signal}` : `exited ${code}`
  return `the command ${how} for ${id}, which comes again`
}
