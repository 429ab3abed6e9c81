/** Sends messages as the owner and reads what agents wrote. Spec §4.3; contract §7. */
import type { Conversation, MessagePage } from '../../sdk/contract/agent/conversations.ts'
import { limits } from '../../sdk/contract/limits.ts'
import type { OwnerInbox, OwnerMessageInput } from '../../sdk/contract/owner/messages.ts'
import { getAgent } from '../agents/store.ts'
import { ApiError } from '../api-error.ts'
import { ownerActor, recordAudit } from '../audit/store.ts'
import type { Context } from '../context.ts'
import {
  findInProject,
  findOwnerConversation,
  insertConversation,
  listInProject,
  toConversation,
} from '../conversations/store.ts'
import type { PageQuery } from '../database/page.ts'
import type { Db } from '../database/tables.ts'
import type { Tx } from '../database/tx.ts'
import type { Answer, Keyed } from '../idempotency.ts'
import type { OwnerCaller } from '../identity/callers.ts'
import { readAsOwner, writeAsOwner } from '../identity/owner.ts'
import { onceInProject } from '../projects/idempotency.ts'
import { getProject, listVisibleIds } from '../projects/store.ts'
import { deliver, threadOf } from './actions.ts'
import { openBudget } from './loop-guard.ts'
import { toMessagePage } from './pages.ts'
import * as store from './store.ts'
import { listToOwner } from './to-owner.ts'

/** Sends a message as the owner. It also reopens a conversation that the loop guard had stopped. */
export function sendAsOwner(
  context: Context,
  caller: OwnerCaller,
  projectId: string,
  input: OwnerMessageInput,
  keyed: Keyed,
): Promise<Answer> {
  return writeAsOwner(context, caller, projectId, (tx) =>
    onceInProject(tx, caller, projectId, keyed, async (project) => {
      const agent = await getAgent(tx.db, project.id, input.recipient_agent_id)
      const conversationId = await conversationFor(tx, caller, {
        projectId: project.id,
        agentId: agent.id,
        conversationId: input.conversation_id,
      })
      const { thread, answeredId } = await threadOf(tx, conversationId, input.in_reply_to, null)
      if (project.state === 'archived') throw new ApiError('project_archived')
      const draft: store.NewMessage = {
        project_id: project.id,
        conversation_id: conversationId,
        sender_kind: 'owner',
        sender_agent_id: null,
        sender_name: caller.name,
        recipient_kind: 'agent',
        recipient_agent_id: agent.id,
        type: input.type ?? 'note',
        body: input.body,
        encoding: 'text',
        in_reply_to: input.in_reply_to ?? null,
        expects_reply_by: input.expects_reply_by ?? null,
        ...thread,
        // A message of the owner resets the hops, so that a thread stopped by the loop guard can continue.
        hops: 0,
      }
      const inserted = await store.insertMessage(tx, draft, { needsRoom: true })
      if (answeredId !== undefined) await store.markAnswered(tx, answeredId)
      await openBudget(tx, conversationId)
      const message = deliver(context, tx, inserted)
      await recordAudit(tx, {
        kind: 'message.sent',
        actor: ownerActor(caller),
        project_id: project.id,
        subject: { type: 'message', id: message.id },
        details: { conversation_id: conversationId, sequence: message.sequence, type: message.type },
      })
      return message
    }),
  )
}

interface Target {
  readonly projectId: string
  readonly agentId: string
  readonly conversationId: string | undefined
}

/**
 * Returns the id of the conversation to write to. "In a peer conversation the recipient must be a
 * participant." @throws not_found
 */
async function conversationFor(
  tx: Tx,
  caller: OwnerCaller,
  { projectId, agentId, conversationId }: Target,
): Promise<string> {
  if (conversationId === undefined) return ownerConversation(tx, caller, projectId, agentId)
  const row = await findInProject(tx.db, projectId, conversationId)
  if (row === undefined || (row.agent_a !== agentId && row.agent_b !== agentId))
    throw new ApiError('not_found')
  return row.id
}

/** Returns the owner's conversation with an agent, which is opened if it does not exist. */
export async function ownerConversation(
  tx: Tx,
  caller: OwnerCaller,
  projectId: string,
  agentId: string,
): Promise<string> {
  const existing = await findOwnerConversation(tx.db, agentId)
  if (existing !== undefined) return existing.id
  const shape = { project_id: projectId, kind: 'owner' as const, agent_a: agentId, agent_b: null }
  const id = await insertConversation(tx, shape)
  await recordAudit(tx, {
    kind: 'conversation.opened',
    actor: ownerActor(caller),
    project_id: projectId,
    subject: { type: 'conversation', id },
    details: { kind: 'owner' },
  })
  return id
}

export function listConversationsAsOwner(
  context: Context,
  caller: OwnerCaller,
  projectId: string,
  query: PageQuery,
) {
  return readAsOwner(context, caller, async (db) => {
    const project = await getProject(db, caller, projectId)
    const { items: conversations, ...page } = await listInProject(db, project.id, query)
    return { conversations, ...page }
  })
}

export function getConversationAsOwner(
  context: Context,
  caller: OwnerCaller,
  ids: { readonly id: string; readonly conversation_id: string },
): Promise<Conversation> {
  return readAsOwner(context, caller, async (db) => {
    const project = await getProject(db, caller, ids.id)
    const row = await findInProject(db, project.id, ids.conversation_id)
    if (row === undefined) throw new ApiError('not_found')
    return toConversation(row)
  })
}

export function readHistoryAsOwner(
  context: Context,
  caller: OwnerCaller,
  ids: { readonly id: string; readonly conversation_id: string },
  query: { readonly after_sequence?: number; readonly before_sequence?: number },
): Promise<MessagePage> {
  const { after_sequence: after, before_sequence: before } = query
  if (after !== undefined && before !== undefined) {
    const problem = 'cannot be used together with after_sequence'
    throw new ApiError('invalid_request', {
      message: `query/before_sequence ${problem}.`,
      details: { faults: [{ path: 'query/before_sequence', problem }] },
    })
  }
  return readAsOwner(context, caller, async (db) => {
    const project = await getProject(db, caller, ids.id)
    const row = await findInProject(db, project.id, ids.conversation_id)
    if (row === undefined) throw new ApiError('not_found')
    const range = { after, before, limit: limits.ownerPage }
    const rows = await store.listHistory(db, row.id, range)
    return toMessagePage(rows, { ...range, removedThrough: row.removed_through_sequence })
  })
}

export function readOwnerInbox(context: Context, caller: OwnerCaller, query: PageQuery): Promise<OwnerInbox> {
  return readAsOwner(context, caller, async (db) => inboxPage(db, await listVisibleIds(db, caller), query))
}

export function readProjectInbox(
  context: Context,
  caller: OwnerCaller,
  projectId: string,
  query: PageQuery,
): Promise<OwnerInbox> {
  return readAsOwner(context, caller, async (db) => {
    const { id } = await getProject(db, caller, projectId)
    return inboxPage(db, [id], query)
  })
}

async function inboxPage(db: Db, projects: readonly string[], query: PageQuery): Promise<OwnerInbox> {
  const { items: messages, ...page } = await listToOwner(db, projects, query)
  return { messages, ...page }
}
