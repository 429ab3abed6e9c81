/**
 * Sends the `task` messages with which the service reports a change to a side of a task.
 *
 * - The message is written in the transaction of the change.
 * - Its sender is `system`. If both sides are agents, the message records the other agent, so that it is
 *   withheld like all messages of a disabled pair. Notices of the owner's actions are always delivered.
 * - Only the notice of a new task is refused if the inbox is full. Other notices are always stored.
 *
 * Contract §8, §10.
 */
import { limits } from '../../sdk/contract/limits.ts'
import type { Context } from '../context.ts'
import type { Tx } from '../database/tx.ts'
import type { TaskRow } from '../database/work-tables.ts'
import { inLine, quoted } from '../messages/quoted.ts'
import { insertMessage, type NewMessage } from '../messages/store.ts'

export type Side = 'creator' | 'assignee'

export interface Notice {
  readonly to: Side
  /** The event in a few words. The title is appended. */
  readonly what: string
  /** Text of one side, which is quoted. */
  readonly quote?: string | null | undefined
  /** More words of the service. */
  readonly note?: string | undefined
  /** Caused by the owner, so it is not withheld if the pair is disabled. */
  readonly byOwner?: boolean
  /** Refused if the inbox is full. */
  readonly needsRoom?: boolean
}

/** The parts of the context that sending a notice needs. */
export type Notifiers = Pick<Context, 'wakeups'>

/** @throws capacity_reached if the notice needs room and the inbox is full */
export async function notify(context: Notifiers, tx: Tx, task: TaskRow, notice: Notice): Promise<void> {
  const isCreator = notice.to === 'creator'
  const agentId = isCreator ? task.creator_agent_id : task.assignee_agent_id
  const counterpart = isCreator ? task.assignee_agent_id : task.creator_agent_id
  const message: NewMessage = {
    project_id: task.project_id,
    conversation_id: task.conversation_id,
    sender_kind: 'system',
    sender_agent_id: notice.byOwner === true || task.creator_kind === 'owner' ? null : counterpart,
    sender_name: 'system',
    recipient_kind: agentId === null ? 'owner' : 'agent',
    recipient_agent_id: agentId ?? task.assignee_agent_id,
    type: 'task',
    body: textOf(task, notice),
    encoding: 'text',
    in_reply_to: null,
    expects_reply_by: null,
    root_id: undefined,
    hops: 0,
    task_id: task.id,
  }
  await insertMessage(tx, message, { needsRoom: notice.needsRoom === true })
  if (agentId === null) return
  tx.afterCommit(() => context.wakeups.notify(agentId))
}

const textOf = (task: TaskRow, { what, quote, note }: Notice): string =>
  [
    inLine(`${what}: ${task.title}`),
    ...(quote ? [quoted(quote)] : []),
    ...(note === undefined ? [] : [note]),
    `agent-bridge task show ${task.id}`,
  ].join('\n')

/** Returns a result as the message to the creator repeats it: whole, or its first part and its size. */
export function resultInMessage(result: string): Pick<Notice, 'quote' | 'note'> {
  const bytes = Buffer.from(result)
  const limit = limits.taskResultInMessageBytes
  if (bytes.length <= limit) return { quote: result }
  // In streaming mode the decoder leaves out a character that the limit cuts.
  const quote = new TextDecoder().decode(bytes.subarray(0, limit), { stream: true })
  return { quote, note: `(the first part of a result of ${bytes.length} bytes)` }
}
