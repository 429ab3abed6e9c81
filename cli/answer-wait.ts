/**
 * Waiting for the answer to a question, through a node that goes away and comes back.
 *
 * The history is asked, not the inbox: a message is offered once a minute to a session, and a `listen` of the same profile
 * would miss what was offered here.
 *
 * Contract §12 "`ask`".
 */
import { setTimeout as timer } from 'node:timers/promises'
import type { Bridge, Message, MessagePage } from '../sdk/index.ts'
import { answers } from './answers.ts'
import type { CliContext } from './context.ts'
import { failureWords } from './failure-words.ts'

const pollMs = { first: 300, longest: 2000 } as const

/** The answer, or undefined when none came until the deadline. @throws what only a person can mend. */
export async function waitForAnswer(
  { clock, signal, output }: CliContext,
  bridge: Bridge,
  question: Message,
  deadline: number,
): Promise<Message | undefined> {
  const read = throughAbsence(output, (afterSequence: number) =>
    bridge.conversations.history(question.conversation_id, { afterSequence, signal }),
  )
  let afterSequence = question.sequence
  for (let pause: number = pollMs.first; ; pause = Math.min(pollMs.longest, pause * 1.5)) {
    const page = await read(afterSequence, signal)
    const answer = page?.messages.find((message) => answers(message, question))
    if (answer !== undefined) return answer
    afterSequence = page?.messages.at(-1)?.sequence ?? afterSequence
    const left = deadline - clock().getTime()
    if (left <= 0) return undefined
    if (page?.has_more !== true) await timer(Math.min(pause, left), undefined, { signal })
  }
}

/** The read, with undefined in place of what may be better next time; that the node is away is told once. */
function throughAbsence(output: CliContext['output'], read: (after: number) => Promise<MessagePage>) {
  let isAway = false
  return async (after: number, signal: AbortSignal): Promise<MessagePage | undefined> => {
    try {
      const page = await read(after)
      if (isAway) output.note('the node is back')
      isAway = false
      return page
    } catch (error) {
      const { isOutcomeUnknown } = await import('../sdk/index.ts')
      if (signal.aborted || !isOutcomeUnknown(error)) throw error
      if (!isAway) output.note(`the node is away, waiting: ${failureWords(error as Error)}`)
      isAway = true
      return undefined
    }
  }
}
