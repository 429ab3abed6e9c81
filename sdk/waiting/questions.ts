/**
 * A question, and the wait for the answer that is linked to it.
 *
 * - asked: the question is stored. After a crash its id resumes the wait.
 * - answered: the other side has replied to the question, with a message of any type. The first reply counts.
 *   It may be stored before the wait begins, and may be acknowledged already.
 * - The wait acknowledges the answer alone. No listener of this Bridge gets the answer during the wait.
 *
 * Contract §12 "`ask`", §13.
 */
import type { NodeClock } from '../agent/node-clock.ts'
import type { Message, MessageSent } from '../contract/agent/messages.ts'
import { limits } from '../contract/limits.ts'
import type { Acknowledgements } from '../resources/acknowledgements.ts'
import type { Conversations } from '../resources/conversations.ts'
import type { Messages } from '../resources/messages.ts'
import type { MessageDraft } from '../storage/outbox.ts'
import { isOutcomeUnknown, LocalError } from '../transport/failures.ts'
import { isTemporary } from '../transport/temporary.ts'
import type { Awaited } from './waiter.ts'
import { isEndless, type Watch } from './watch.ts'

/** A question that is more than its text. The type is `question` when absent. */
export interface Question extends Omit<MessageDraft, 'to' | 'type'> {
  readonly type?: MessageDraft['type'] | undefined
}

/** How to wait for an answer. */
export interface AnswerOptions {
  /**
   * Milliseconds, from the stored question or the resumed wait on. Ten minutes when absent. `Infinity` for no
   * timeout.
   */
  readonly timeout?: number | undefined
  /** Ends the wait. The question stays stored. */
  readonly signal?: AbortSignal | undefined
  /** False leaves the answer unacknowledged, so that `listen` gets it too. True when absent. */
  readonly acknowledge?: boolean | undefined
  /**
   * Called with the reason when the node cannot be reached, and with undefined when it answers again. The
   * wait continues.
   */
  readonly onConnection?: ((away: Error | undefined) => void) | undefined
}

/** How to ask. */
export interface AskOptions extends AnswerOptions {
  /**
   * Makes the call safe to repeat: the same key and question wait for the answer to one question. The
   * question then has no `expects_reply_by` unless one is given, since the time would differ with each call.
   */
  readonly idempotencyKey?: string | undefined
  /** Called once the question is stored, with its id for `answerTo` and the connection of the recipient. */
  readonly onAsked?: ((sent: MessageSent) => void) | undefined
}

/**
 * No answer came before the timeout. The question is stored, and `bridge.answerTo(error.questionId)` resumes
 * the wait.
 */
export class NoAnswer extends LocalError {
  /** The id of the question. */
  readonly questionId: string

  constructor(questionId: string, timeout: number, away: Error | undefined) {
    super(
      'no_answer',
      `no answer to ${questionId} ${within(timeout, away)}; ${goesOn(questionId)}`,
      away && { cause: away },
    )
    this.questionId = questionId
  }
}

/**
 * Reserves the answer to a question for this process. The returned function releases it, and takes the answer if this
 * process acknowledged one.
 */
export type HoldAnswer = (questionId: string) => Promise<(answer: Message | undefined) => Promise<void>>

export interface Questioning {
  readonly agentId: string
  readonly messages: Messages
  readonly conversations: Conversations
  readonly acknowledgements: Acknowledgements
  readonly watch: Watch
  readonly nodeClock: NodeClock
  readonly hold: HoldAnswer | undefined
}

export async function ask(
  asking: Questioning,
  to: string,
  question: string | Question,
  { idempotencyKey, onAsked, ...options }: AskOptions,
): Promise<Message> {
  const timeout = timeoutOf(options)
  const given = typeof question === 'string' ? { body: question } : question
  const isDated = idempotencyKey === undefined && !isEndless(timeout)
  // The recipient sees that somebody waits, and until when.
  const dated = isDated ? { expects_reply_by: await after(asking, timeout) } : {}
  const { signal } = options
  const draft = { ...dated, ...given, type: given.type ?? 'question' } as const
  const sent = await asking.messages.sendTo(to, draft, { idempotencyKey, signal })
  return wait(asking, sent.message, options, () => onAsked?.(sent))
}

export async function answerTo(
  asking: Questioning,
  question: string | Message,
  options: AnswerOptions,
): Promise<Message> {
  const { signal } = options
  timeoutOf(options)
  const asked = typeof question === 'string' ? await asking.messages.get(question, { signal }) : question
  if (asked.sender.agent_id === asking.agentId) return wait(asking, asked, options)
  throw new LocalError(
    'not_asked',
    `message ${asked.id} was not sent by this identity, which gets no answer to it`,
  )
}

/** Calls `onHeld` once the answer is reserved, because the other side may answer at once. */
async function wait(
  asking: Questioning,
  question: Message,
  options: AnswerOptions,
  onHeld = () => {},
): Promise<Message> {
  const { watch, hold } = asking
  const { signal, onConnection, acknowledge = true } = options
  const timeout = timeoutOf(options)
  const release = await (hold?.(question.id) ?? Promise.resolve(undefined)).finally(onHeld)
  let got: Message | undefined
  try {
    const finish = (answer: Message) => acknowledged(asking, answer, signal)
    const awaited = { ...answerOf(asking, question), ...(acknowledge && { finish }) }
    const answer = await watch.wait(awaited, { timeout, signal, onConnection })
    if (answer === undefined) throw new NoAnswer(question.id, timeout, watch.lastFailure)
    if (acknowledge) got = answer
    return answer
  } catch (error) {
    if (!(error instanceof LocalError && error.code === 'aborted')) throw error
    throw new LocalError('aborted', `${error.message}; ${goesOn(question.id)}`, { cause: error })
  } finally {
    await release?.(got)
  }
}

/** The history is read, not the inbox: it holds what was acknowledged too. */
function answerOf({ conversations }: Questioning, question: Message): Awaited<Message> {
  let afterSequence = question.sequence
  return {
    tells: (message) => (isAnswerTo(message, question) ? { result: message } : undefined),
    async look(signal) {
      for (;;) {
        const options = { afterSequence, limit: limits.pageMax, signal }
        const { messages, has_more } = await conversations.history(question.conversation_id, options)
        const answer = messages.find((message) => isAnswerTo(message, question))
        if (answer !== undefined) return answer
        afterSequence = Math.max(afterSequence, messages.at(-1)?.sequence ?? 0)
        if (!has_more || messages.length === 0) return undefined
      }
    },
  }
}

/** Whether the message answers the question. A reply by the side that asked is a follow-up, not an answer. */
export const isAnswerTo = ({ in_reply_to, sender }: Message, question: Message): boolean =>
  in_reply_to === question.id &&
  (sender.kind !== question.sender.kind || sender.agent_id !== question.sender.agent_id)

async function acknowledged(
  { acknowledgements }: Questioning,
  { id, delivery }: Message,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (delivery.acknowledged_at !== null) return
  await acknowledgements.create([id], { signal }).catch(unlessPassing)
}

/**
 * An acknowledgement that did not arrive, or that the node refuses for now, is no failure of the wait: the outbox
 * keeps it, or the node offers the messages again. @throws every other error
 */
export function unlessPassing(error: unknown): void {
  if (!isOutcomeUnknown(error) && !isTemporary(error, 'reading')) throw error
}

const goesOn = (questionId: string): string =>
  `the question is stored, and bridge.answerTo('${questionId}') waits on`

const after = async ({ nodeClock }: Questioning, ms: number): Promise<string> =>
  new Date((await nodeClock.now()).getTime() + ms).toISOString()

/** How long was waited, and whether the node was there to the last. */
export const within = (timeout: number, away: Error | undefined): string =>
  `within ${timeout} ms${away === undefined ? '' : ', and the node is away'}`

const defaultTimeoutMs = 600_000

/** @throws RangeError for what is no length of time */
export function timeoutOf({ timeout = defaultTimeoutMs }: { readonly timeout?: number | undefined }): number {
  if (timeout >= 0) return timeout
  throw new RangeError(`timeout is a number of milliseconds, not ${timeout}`)
}
