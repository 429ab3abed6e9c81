/**
 * Sends and reads messages as an agent.
 *
 * The sender is derived from the proven identity, never from the body.
 *
 * Spec §4.2; contract §7.
 */
import type { MessagePage } from '../../sdk/contract/agent/conversations.ts'
import type { Message, MessageInput, MessageSent } from '../../sdk/contract/agent/messages.ts'
import { limits } from '../../sdk/contract/limits.ts'
import { administratorsOf } from '../administrators/store.ts'
import { ApiError } from '../api-error.ts'
import { agentActor, recordAudit, wasRecorded } from '../audit/store.ts'
import type { Context } from '../context.ts'
import { requireParticipant, requireReadable, requireWritable } from '../conversations/rules.ts'
import {
  type ConversationStanding,
  findForAgent as findConversation,
  findInProject,
} from '../conversations/store.ts'
import type { MessageRow } from '../database/tables.ts'
import { answerOf, inboxOf, type Touches } from '../database/touches.ts'
import type { Tx } from '../database/tx.ts'
import { type Answer, agentPrincipal, type Keyed, once } from '../idempotency.ts'
import { type Admitted, readAs, writeAs } from '../identity/admission.ts'
import type { AgentCaller } from '../identity/callers.ts'
import { requireProjectActive } from '../projects/rules.ts'
import { connectionOf } from '../sessions/store.ts'
import { countRecent, sentBefore } from './loop-guard.ts'
import { toMessagePage } from './pages.ts'
import { budgetSince, budgetSpent, requireHops } from './rules.ts'
import * as store from './store.ts'

export function sendMessage(
  context: Context,
  caller: AgentCaller,
  input: MessageInput,
  keyed: Keyed,
): Promise<Answer> {
  const touches: Touches = {
    alone: [input.conversation_id, answerOf(caller.agent_id, keyed.key)],
    together: [inboxOf(input.recipient_agent_id)],
  }
  const unit = (tx: Tx, agent: Admitted) =>
    once(tx, agentPrincipal(agent), keyed, async () => {
      const found = await findConversation(tx.db, agent.project_id, agent.agent_id, input.conversation_id)
      const standing = requireParticipant(found)
      requireRecipient(standing, agent, input)
      const { thread, answeredId } = await threadOf(
        tx,
        input.conversation_id,
        input.in_reply_to,
        agent.agent_id,
      )
      if (standing.peer) await guard(tx, agent, standing, thread.hops)
      requireWritable(standing)
      const draft = { ...draftOf(agent, standing, input), ...thread }
      const inserted = await store.insertMessage(tx, draft, { needsRoom: true })
      if (answeredId !== undefined) await store.markAnswered(tx, answeredId)
      const message = deliver(context, tx, inserted)
      await recordAudit(tx, {
        kind: 'message.sent',
        actor: agentActor(agent),
        project_id: agent.project_id,
        subject: { type: 'message', id: message.id },
        details: { conversation_id: message.conversation_id, sequence: message.sequence, type: message.type },
      })
      return answer(context, tx, message, agent.project_id)
    })
  const sent = writeAs(context, caller, unit, touches)
  return sent.catch((error: unknown) => recordGuard(context, caller, input, error))
}

/**
 * Records a tripped loop guard in a separate transaction, because the refusal undoes its own. Only the first
 * one per window and conversation is recorded, so that a loop does not fill the audit log.
 */
async function recordGuard(
  context: Context,
  caller: AgentCaller,
  input: MessageInput,
  error: unknown,
): Promise<never> {
  if (!(error instanceof ApiError && error.code === 'conversation_budget')) throw error
  const { agent_id, agent_name, project_id, request_id } = caller
  const kind = 'conversation.guard_tripped'
  const id = input.conversation_id
  await context.write(project_id, async (tx) => {
    const row = await findInProject(tx.db, project_id, id)
    const since = budgetSince(tx.steadyNow, row?.budget_from ?? null)
    if (await wasRecorded(tx, { kind, project_id, id, since, actor_id: agent_id })) return
    await recordAudit(tx, {
      kind,
      actor: { kind: 'agent', id: agent_id, name: agent_name, request_id },
      project_id,
      subject: { type: 'conversation', id },
      details: { ...error.details },
    })
  })
  throw error
}

/**
 * Checks the recipient. "For an owner reply recipient_agent_id is the caller's own agent ID and no pairing is
 * needed." Spec §4.2.
 */
function requireRecipient({ peer }: ConversationStanding, agent: Admitted, input: MessageInput): void {
  const expected = peer?.id ?? agent.agent_id
  if (input.recipient_agent_id === expected) return
  const problem = peer ? 'must be the other participant of the conversation' : 'must be your own agent id'
  throw new ApiError('invalid_request', {
    message: `body/recipient_agent_id ${problem}.`,
    details: { faults: [{ path: 'body/recipient_agent_id', problem }] },
  })
}

/** Refuses new peer messages in a paused project and when the loop guard has tripped. */
async function guard(tx: Tx, agent: Admitted, { row }: ConversationStanding, hops: number): Promise<void> {
  requireProjectActive(agent.project_state)
  const budget = agent.message_budget ?? limits.messageBudget
  const sender = { conversationId: row.id, agentId: agent.agent_id }
  const sent = await countRecent(tx, {
    ...sender,
    since: budgetSince(tx.steadyNow, row.budget_from),
    lastSequence: row.last_sequence,
    budget,
  })
  if (sent >= budget) {
    throw budgetSpent(budget, await sentBefore(tx, { ...sender, skip: budget - 1 }), tx.steadyNow)
  }
  requireHops(hops)
}

function draftOf(
  agent: Admitted,
  { peer }: ConversationStanding,
  input: MessageInput,
): Omit<store.NewMessage, 'root_id' | 'hops'> {
  return {
    project_id: agent.project_id,
    conversation_id: input.conversation_id,
    sender_kind: 'agent',
    sender_agent_id: agent.agent_id,
    sender_name: agent.agent_name,
    recipient_kind: peer ? 'agent' : 'owner',
    recipient_agent_id: input.recipient_agent_id,
    type: input.type,
    body: input.body,
    encoding: input.encoding ?? 'text',
    in_reply_to: input.in_reply_to ?? null,
    expects_reply_by: input.expects_reply_by ?? null,
  }
}

/**
 * Derives `hops` and `root_id` from the message that is answered. `answeredId` is the id of that message if
 * this is the reply that it expects: the first one that its sender did not write itself.
 *
 * @throws not_found if the message is not in this conversation
 */
export async function threadOf(
  tx: Tx,
  conversationId: string,
  inReplyTo: string | undefined,
  senderId: string | null,
) {
  if (inReplyTo === undefined) return { thread: { root_id: undefined, hops: 0 }, answeredId: undefined }
  const parent = await store.findParent(tx.db, conversationId, inReplyTo)
  if (parent === undefined)
    throw new ApiError('not_found', {
      message: 'in_reply_to is not the id of a message in this conversation.',
    })
  const { root_id, hops, expects_reply_by, answered_at } = parent
  const isExpected = expects_reply_by !== null && answered_at === null && parent.sender_agent_id !== senderId
  return { thread: { root_id, hops: hops + 1 }, answeredId: isExpected ? inReplyTo : undefined }
}

/** Returns the stored message and notifies its recipient after the commit. */
export function deliver(context: Context, tx: Tx, row: MessageRow): Message {
  const { inbox_agent_id } = row
  if (inbox_agent_id !== null) tx.afterCommit(() => context.wakeups.notify(inbox_agent_id))
  return store.toMessage(row)
}

/**
 * Builds the answer to a send. "An agent's send answers { message, recipient: { connection } }, so that it
 * learns at once that nobody is listening."
 */
async function answer(context: Context, tx: Tx, message: Message, projectId: string): Promise<MessageSent> {
  if (message.recipient.kind === 'owner') {
    const people = await administratorsOf(tx.db, projectId)
    return { message, recipient: { connection: context.presence.ownerConnection(people, tx.steadyNow) } }
  }
  const connection = await connectionOf(context, tx.db, message.recipient_agent_id, tx.steadyNow)
  return { message, recipient: { connection } }
}

export function getMessage(context: Context, caller: AgentCaller, id: string): Promise<Message> {
  return readAs(
    context,
    caller,
    async (db, agent) => {
      const row = await store.findForAgent(db, agent.project_id, agent.agent_id, id)
      if (row === undefined) throw new ApiError('not_found')
      const conversation = await findConversation(db, agent.project_id, agent.agent_id, row.conversation_id)
      requireReadable(conversation)
      return store.toMessage(row)
    },
    { alone: [] },
  )
}

export function readHistory(
  context: Context,
  caller: AgentCaller,
  id: string,
  query: { after_sequence?: number; limit?: number },
): Promise<MessagePage> {
  return readAs(
    context,
    caller,
    async (db, agent) => {
      const { row } = requireReadable(await findConversation(db, agent.project_id, agent.agent_id, id))
      const after = query.after_sequence ?? 0
      const limit = query.limit ?? limits.pageDefault
      const rows = await store.listHistory(db, id, { after, limit })
      return toMessagePage(rows, { after, limit, removedThrough: row.removed_through_sequence })
    },
    { alone: [id] },
  )
}
