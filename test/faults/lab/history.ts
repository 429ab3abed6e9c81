/**
 * The history checker: compares the answers that clients got with the state of the server after the faults.
 *
 * Clients record each operation before it is sent and again after it returned. `ok`: the server confirmed it.
 * `fail`: it certainly did not happen. `info`: unknown (no answer, or a 5xx). A rule is a function from a run
 * to sentences that describe its faults. For each rule `history.test.ts` has a faulty history that only this
 * rule rejects.
 *
 * Reliability §3.2. The rules of tasks are in `task-history.ts`; rules of transfers can be added in the same
 * way.
 */
import type { StoredTask, TaskOp } from './task-effects.ts'
import { taskRules } from './task-history.ts'

export interface Operation {
  /** The principal: an agent's id. */
  readonly client: string
  readonly op: 'send' | 'ack' | 'inbox' | 'history' | 'start' | 'close' | TaskOp
  /** Milliseconds of the machine's monotonic clock, comparable between processes. */
  readonly invoked: number
  /** Infinity if it never returned. */
  readonly returned: number
  readonly outcome: 'ok' | 'fail' | 'info'
  readonly key: string | null
  /** The session in which it was called. */
  readonly session: string | null
  /** The conversation of a `send` or `history`. */
  readonly conversation: string | null
  /** The text of a `send`. */
  readonly text: string | null
  /** The messages of an `ack`. */
  readonly messageIds: readonly string[]
  /** The sequence after which a `history` was read. */
  readonly after: number
  /** The id of the task, for operations on an existing task. */
  readonly task?: string
  /** The generation of the claim, for a holder's operations. */
  readonly generation?: number
  /** The error code of a refusal. */
  readonly code: string | null
  /** The bytes of the answer. */
  readonly answer: string
}

export interface StoredMessage {
  readonly id: string
  readonly sequence: number
  readonly body: string
  readonly recipient_agent_id: string
  readonly type?: string
  readonly task_id?: string | null
  readonly delivery: { readonly acknowledged_at: string | null }
}

/** In the order in which they were written. */
export interface AuditRecord {
  readonly kind: string
  readonly subject_id: string | null
  readonly at?: string
  readonly details: {
    readonly message_ids?: readonly string[]
    /** The state of a task after the recorded change. */
    readonly state?: string
    readonly claim_generation?: number
  }
}

export interface Run {
  readonly operations: readonly Operation[]
  /** The complete history of each conversation, read at the end of the run. */
  readonly conversations: ReadonlyMap<string, readonly StoredMessage[]>
  readonly audit: readonly AuditRecord[]
  readonly tasks?: readonly StoredTask[]
}

export type Rule = (run: Run) => string[]

/** Returns the sentences of all rules that found a fault, each after the rule's name. */
export function checkHistory(run: Run, chosen: readonly Rule[] = rules): string[] {
  return chosen.flatMap((rule) => rule(run).map((sentence) => `${rule.name}: ${sentence}`))
}

/** Every `ok` send is stored exactly once with its answer, every `info` at most once, and a `fail` never. */
export function sendsAreStoredOnce({ operations, conversations }: Run): string[] {
  const stored = Map.groupBy(
    [...conversations].flatMap(([id, all]) => all.map((message) => ({ id, message }))),
    ({ id, message }) => `${id} ${message.body}`,
  )
  const sends = operations.filter(({ op }) => op === 'send')
  return [...Map.groupBy(sends, (send) => `${send.conversation} ${send.text}`)].flatMap(([name, tries]) => {
    const found = stored.get(name) ?? []
    const told = tries.find(({ outcome }) => outcome === 'ok')
    if (told === undefined) {
      const allowed = tries.some(({ outcome }) => outcome === 'info') ? 1 : 0
      return found.length > allowed ? [`${name} was not accepted and is stored ${found.length} times`] : []
    }
    const { id, sequence } = sentMessage(told)
    const same = found.filter(({ message }) => message.id === id && message.sequence === sequence)
    if (found.length === 1 && same.length === 1) return []
    return [
      `${name} was answered as ${id} at ${sequence}; ${found.length} are stored, ${same.length} as answered`,
    ]
  })
}

/** Every message that a client read is stored: no reader saw uncommitted data. */
export function whatWasSeenIsStored({ operations, conversations }: Run): string[] {
  const stored = new Map([...conversations.values()].flat().map((message) => [message.id, message]))
  return shown(operations).flatMap(({ operation, messages }) =>
    messages
      .filter(({ id, sequence }) => stored.get(id)?.sequence !== sequence)
      .map(
        ({ id, sequence }) => `${operation.client} was shown ${id} at ${sequence}, which is not stored so`,
      ),
  )
}

/** The sequences of a conversation are 1, 2, 3 … without a gap. */
export function sequencesHaveNoGap({ conversations }: Run): string[] {
  return [...conversations].flatMap(([id, all]) =>
    all
      .filter(({ sequence }, index) => sequence !== index + 1)
      .slice(0, 1)
      .map(({ sequence }) => `conversation ${id} holds sequence ${sequence} out of place`),
  )
}

/** A message sent after another was answered has the greater sequence. */
export function sequencesFollowTime({ operations }: Run): string[] {
  const sends = operations.filter(({ op }) => op === 'send')
  return [...Map.groupBy(sends, ({ conversation }) => String(conversation)).values()].flatMap((all) =>
    outOfOrder(effectsOf(all)).map(
      ([earlier, later]) => `sequence ${later} was sent after ${earlier} had been answered`,
    ),
  )
}

/**
 * A page of history has every message up to its end: a reader that saw n later finds no new message below n.
 */
export function pagesHaveNoGap({ operations }: Run): string[] {
  return shown(operations)
    .filter(({ operation }) => operation.op === 'history')
    .flatMap(({ operation: { client, after }, messages }) =>
      messages
        .filter(({ sequence }, index) => sequence !== after + 1 + index)
        .slice(0, 1)
        .map(({ sequence }) => `${client} read after ${after} and got ${sequence} out of place`),
    )
}

/** Two answers to one key are equal byte for byte, and an answered key is not refused afterwards. */
export function keysHaveOneAnswer({ operations }: Run): string[] {
  const keyed = operations.filter(({ key }) => key !== null)
  return [...Map.groupBy(keyed, ({ client, op, key, text }) => `${client} ${op} ${key} ${text}`)].flatMap(
    ([name, all]) => {
      const answered = all.filter(({ outcome }) => outcome === 'ok')
      const first = Math.min(...answered.map(({ returned }) => returned))
      const refused = all.filter(
        ({ outcome, code, invoked }) =>
          outcome === 'fail' && invoked > first && !code?.startsWith('session_'),
      )
      return [
        ...(new Set(answered.map(({ answer }) => answer)).size > 1
          ? [`${name} was answered in two ways`]
          : []),
        ...refused.map(({ code }) => `${name} was answered and then refused: ${code}`),
      ]
    },
  )
}

/**
 * Every answered acknowledgement is kept, and every acknowledged message was acknowledged by its recipient.
 */
export function acknowledgementsAreKept({ operations, conversations }: Run): string[] {
  const acks = operations.filter(({ op, outcome }) => op === 'ack' && outcome !== 'fail')
  const told = new Set(acks.filter(({ outcome }) => outcome === 'ok').flatMap(({ messageIds }) => messageIds))
  const tried = new Set(acks.flatMap(({ client, messageIds }) => messageIds.map((id) => `${client} ${id}`)))
  return [...conversations.values()].flat().flatMap(({ id, recipient_agent_id, delivery }) => {
    if (delivery.acknowledged_at === null)
      return told.has(id) ? [`${id} was acknowledged and is not any more`] : []
    return tried.has(`${recipient_agent_id} ${id}`)
      ? []
      : [`${id} is acknowledged, and its recipient never did`]
  })
}

/** After an acknowledgement was answered, no later read of the inbox offers the message. */
export function acknowledgedIsNotOffered({ operations }: Run): string[] {
  const acknowledged = new Map<string, number>()
  for (const { op, outcome, client, messageIds, returned } of operations) {
    if (op !== 'ack' || outcome !== 'ok') continue
    for (const id of messageIds) {
      const name = `${client} ${id}`
      acknowledged.set(name, Math.min(returned, acknowledged.get(name) ?? returned))
    }
  }
  return offered(operations).flatMap(({ operation: { client, invoked }, messages }) =>
    messages
      .filter(({ id }) => (acknowledged.get(`${client} ${id}`) ?? Number.POSITIVE_INFINITY) < invoked)
      .map(({ id }) => `${client} was offered ${id} after its acknowledgement`),
  )
}

/**
 * Every message that was stored before its recipient started its last session was offered to it at least once.
 * The ids of a project increase in the order of commits. A message that the service stores later, such as the
 * notice of an expired claim, may come after the last read.
 */
export function everythingIsOffered({ operations, conversations }: Run): string[] {
  const seen = new Set(
    offered(operations).flatMap(({ operation, messages }) =>
      messages.map(({ id }) => `${operation.client} ${id}`),
    ),
  )
  const lastSession = new Map<string, string>()
  for (const start of operations.filter(isStarted)) {
    const { id } = startedSession(start)
    if (id > (lastSession.get(start.client) ?? '')) lastSession.set(start.client, id)
  }
  const isDue = (id: string, recipient: string) => id < (lastSession.get(recipient) ?? noSession)
  return [...conversations.values()]
    .flat()
    .filter(
      ({ id, recipient_agent_id: recipient }) => isDue(id, recipient) && !seen.has(`${recipient} ${id}`),
    )
    .map(({ id, recipient_agent_id }) => `${recipient_agent_id} was never offered ${id}`)
}

/** A session in an answer exists: it is never unknown, and it ends only on request. */
export function startedSessionsAreKept({ operations }: Run): string[] {
  const started = new Map(
    operations.filter(isStarted).map((start) => [startedSession(start).id, start.returned] as const),
  )
  const wronged = operations.filter(
    ({ session, invoked }) => (started.get(session ?? '') ?? Number.POSITIVE_INFINITY) < invoked,
  )
  return wronged.flatMap(({ client, session, code, returned }) => {
    if (code === 'session_unknown') return [`${client} started ${session}, which is unknown`]
    if (code !== 'session_closed' && code !== 'session_fenced') return []
    const ended = operations.some(
      (other) => other.client === client && other.invoked < returned && mayEnd(other, session ?? ''),
    )
    return ended ? [] : [`${client} heard ${code} of ${session}, which nobody ended`]
  })
}

/** Generations of an agent only increase, and each belongs to one session. */
export function generationsRise({ operations }: Run): string[] {
  return [...Map.groupBy(operations.filter(isStarted), ({ client }) => client)].flatMap(
    ([client, starts]) => {
      const fallen = outOfOrder(
        starts.map((start) => ({ ...span(start), value: startedSession(start).generation })),
      ).map(([earlier, later]) => `${client} was at generation ${earlier} and later at ${later}`)
      const names = starts
        .map((start) => startedSession(start))
        .map(({ id, generation }) => `${id} ${generation}`)
      const ids = new Set(names.map((name) => name.split(' ')[0]))
      const generations = new Set(names.map((name) => name.split(' ')[1]))
      const one = new Set(names).size === ids.size && ids.size === generations.size
      return one ? fallen : [...fallen, `${client} had two sessions in one generation, or one in two`]
    },
  )
}

/** No request succeeds in a session whose end was answered earlier. */
export function endedSessionsDoNothing({ operations }: Run): string[] {
  const ends = new Map<string, number>()
  for (const { op, outcome, session, returned } of operations) {
    if (op === 'close' && outcome === 'ok' && session !== null) ends.set(session, returned)
  }
  return operations
    .filter(({ session, outcome, op }) => session !== null && outcome === 'ok' && op !== 'start')
    .filter(({ session, invoked }) => (ends.get(session ?? '') ?? Number.POSITIVE_INFINITY) < invoked)
    .map(({ client, op, session }) => `${client} did ${op} in ${session} after its end`)
}

/** No answer is an internal error: a server under faults may be unavailable, but never wrong. */
export function nothingIsInternal({ operations }: Run): string[] {
  return operations
    .filter(({ code }) => code === 'internal')
    .map(({ client, op, answer }) => `${client} did ${op} and was answered ${answer}`)
}

/** There is one record for each message sent, each acknowledged message and each session started. */
export function mutationsAreAudited({ operations, conversations, audit }: Run): string[] {
  const count = (kind: string, ids: (record: AuditRecord) => readonly (string | null)[]) => {
    const counted = new Map<string | null, number>()
    for (const id of audit.filter((record) => record.kind === kind).flatMap(ids)) {
      counted.set(id, (counted.get(id) ?? 0) + 1)
    }
    return counted
  }
  const messages = [...conversations.values()].flat()
  const expected = [
    // The record of a task or transfer covers a message that the service sends about it.
    {
      kind: 'message.sent',
      ids: messages.filter(({ type }) => type !== 'task' && type !== 'transfer').map(({ id }) => id),
    },
    {
      kind: 'message.acknowledged',
      ids: messages.filter(({ delivery }) => delivery.acknowledged_at !== null).map(({ id }) => id),
    },
    { kind: 'session.started', ids: operations.filter(isStarted).map((start) => startedSession(start).id) },
  ]
  return expected.flatMap(({ kind, ids }) => {
    const counted = count(kind, ({ subject_id, details }) => details.message_ids ?? [subject_id])
    return [...new Set(ids)]
      .filter((id) => counted.get(id) !== 1)
      .map((id) => `${kind} of ${id} is recorded ${counted.get(id) ?? 0} times`)
  })
}

export const rules: readonly Rule[] = [
  sendsAreStoredOnce,
  whatWasSeenIsStored,
  sequencesHaveNoGap,
  sequencesFollowTime,
  pagesHaveNoGap,
  keysHaveOneAnswer,
  acknowledgementsAreKept,
  acknowledgedIsNotOffered,
  everythingIsOffered,
  startedSessionsAreKept,
  generationsRise,
  endedSessionsDoNothing,
  nothingIsInternal,
  mutationsAreAudited,
  ...taskRules,
]

interface Span {
  readonly invoked: number
  readonly returned: number
}

interface Placed {
  readonly id: string
  readonly sequence: number
}

const span = ({ invoked, returned }: Operation): Span => ({ invoked, returned })

const sentMessage = ({ answer }: Operation) => (JSON.parse(answer) as { message: Placed }).message

const startedSession = ({ answer }: Operation) => JSON.parse(answer) as { id: string; generation: number }

/** Above every id: all messages of a recipient that started no session are due. */
const noSession = '\uffff'

const isStarted = ({ op, outcome }: Operation) => op === 'start' && outcome === 'ok'

/** Whether an operation closes the session, or is a start that may have replaced it. */
const mayEnd = (other: Operation, session: string): boolean =>
  other.outcome !== 'fail' &&
  (other.op === 'close'
    ? other.session === session
    : other.op === 'start' && (other.outcome === 'info' || startedSession(other).id !== session))

const offered = (operations: readonly Operation[]) =>
  shown(operations).filter(({ operation }) => operation.op === 'inbox')

/** The messages that inbox pages and history pages showed. */
const shown = (operations: readonly Operation[]) =>
  operations
    .filter(({ op, outcome }) => (op === 'inbox' || op === 'history') && outcome === 'ok')
    .map((operation) => ({
      operation,
      messages: (JSON.parse(operation.answer) as { messages: Placed[] }).messages,
    }))

/**
 * The time span in which each key took effect: between its first attempt, answered or not, and its first
 * answer.
 */
const effectsOf = (sends: readonly Operation[]) =>
  [...Map.groupBy(sends, ({ client, key, text }) => `${client} ${key} ${text}`).values()].flatMap((tries) => {
    const answered = tries.filter(({ outcome }) => outcome === 'ok')
    const invoked = Math.min(...tries.map((each) => each.invoked))
    const returned = Math.min(...answered.map((each) => each.returned))
    return answered.slice(0, 1).map((each) => ({ invoked, returned, value: sentMessage(each).sequence }))
  })

/** Pairs in which the second was invoked after the first had returned, but has the smaller value. */
function outOfOrder(all: readonly (Span & { readonly value: number })[]): [number, number][] {
  const byReturn = [...all].sort((a, b) => a.returned - b.returned)
  const byInvoke = [...all].sort((a, b) => a.invoked - b.invoked)
  const found: [number, number][] = []
  let highest = Number.NEGATIVE_INFINITY
  let next = 0
  for (const each of byInvoke) {
    for (let before = byReturn[next]; before && before.returned < each.invoked; before = byReturn[++next]) {
      highest = Math.max(highest, before.value)
    }
    if (each.value < highest) found.push([highest, each.value])
  }
  return found
}
