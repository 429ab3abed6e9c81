/**
 * The `task` messages by which the service tells a side of a task what happened to it.
 *
 * - Written in the transaction of the change, so both are there or neither.
 * - From `system`. Where the two sides are a pair, the other agent is noted beside it: mail of a disabled pair is
 *   withheld, and so is this. What the owner did is told in any case.
 * - Only a new task may meet a full inbox; nothing that ends one is refused for it.
 *
 * Contract §8, §10.
 */
import type { Context } from '../context.ts'
import type { Tx } from '../database/tx.ts'
import type { TaskRow } from '../database/work-tables.ts'
import { requireInboxRoom } from '../messages/rules.ts'
import { insertMessage } from '../messages/store.ts'

export type Side = 'creator' | 'assignee'

export interface Notice {
  readonly to: Side
  /** What happened, in a few words; the title follows. */
  readonly what: string
  readonly more?: string | null | undefined
  /** The owner did it: no pair stands between. */
  readonly byOwner?: boolean
  /** Refused when the inbox is full. */
  readonly needsRoom?: boolean
}

/** Of the context what telling takes. */
export type Notifiers = Pick<Context, 'wakeups'>

/** @throws capacity_reached, where the notice needs room */
export async function notify(context: Notifiers, tx: Tx, task: TaskRow, notice: Notice): Promise<void> {
  const isCreator = notice.to === 'creator'
  const agentId = isCreator ? task.creator_agent_id : task.assignee_agent_id
  const counterpart = isCreator ? task.assignee_agent_id : task.creator_agent_id
  const { waiting } = await insertMessage(tx, {
    project_id: task.project_id,
    conversation_id: task.conversation_id,
    sender_kind: 'system',
    sender_agent_id: notice.byOwner === true || task.creator_kind === 'owner' ? null : counterpart,
    sender_name: 'system',
    recipient_kind: agentId === null ? 'owner' : 'agent',
    recipient_agent_id: agentId ?? task.assignee_agent_id,
    type: 'task',
    body: wordsOf(task, notice),
    encoding: 'text',
    in_reply_to: null,
    expects_reply_by: null,
    root_id: undefined,
    hops: 0,
    task_id: task.id,
  })
  if (agentId === null) return
  if (notice.needsRoom === true) requireInboxRoom(waiting)
  tx.afterCommit(() => context.wakeups.notify(agentId))
}

const wordsOf = (task: TaskRow, { what, more }: Notice): string =>
  [`${what}: ${task.title}`, ...(more ? [more] : []), `bridge task show ${task.id}`].join('\n')
