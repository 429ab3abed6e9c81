/** Opens and reads conversations as an agent. Contract §7. */
import type { Conversation, ConversationInput } from '../../sdk/contract/agent/conversations.ts'
import { ApiError } from '../api-error.ts'
import { agentActor, recordAudit } from '../audit/store.ts'
import type { Context } from '../context.ts'
import type { PageQuery } from '../database/page.ts'
import type { Tx } from '../database/tx.ts'
import { type Answer, agentPrincipal, type Keyed, once } from '../idempotency.ts'
import { type Admitted, readAs, writeAs } from '../identity/admission.ts'
import type { AgentCaller } from '../identity/callers.ts'
import { requireProjectActive } from '../projects/rules.ts'
import { findPairing, pairOf } from './pairs.ts'
import { requirePeerEnabled, requireReadable } from './rules.ts'
import * as store from './store.ts'

/**
 * Creates or returns the conversation with a peer. The caller's own id means its conversation with the owner.
 */
export function openConversation(
  context: Context,
  caller: AgentCaller,
  input: ConversationInput,
  keyed: Keyed,
): Promise<Answer> {
  return writeAs(context, caller, (tx, agent) =>
    once(tx, agentPrincipal(agent), keyed, async () => {
      if (input.recipient_agent_id === agent.agent_id) return openWithOwner(tx, agent)
      return openWithPeer(tx, agent, input.recipient_agent_id)
    }),
  )
}

async function openWithPeer(tx: Tx, agent: Admitted, peerId: string): Promise<Conversation> {
  await conversationWithPeer(tx, agent, peerId)
  const opened = await store.findPeerConversation(tx.db, agent.agent_id, peerId)
  if (opened === undefined) throw missing()
  return store.toConversation(opened)
}

/**
 * Returns the id of the conversation, which is created if it does not exist. @throws not_found,
 * project_paused, pairing_disabled, state_conflict
 */
export async function conversationWithPeer(tx: Tx, agent: Admitted, peerId: string): Promise<string> {
  const pairing = await findPairing(tx.db, agent.project_id, agent.agent_id, peerId)
  if (pairing === undefined) throw new ApiError('not_found')
  requireProjectActive(agent.project_state)
  if (pairing.enabled === 0) throw new ApiError('pairing_disabled')
  requirePeerEnabled(pairing.peer_state === 'enabled')
  if (pairing.conversation_id !== null) return pairing.conversation_id
  return create(tx, agent, { kind: 'peer', ...pairOf(agent.agent_id, peerId) })
}

async function openWithOwner(tx: Tx, agent: Admitted): Promise<Conversation> {
  const existing = await store.findOwnerConversation(tx.db, agent.agent_id)
  if (existing) return store.toConversation(existing)
  const id = await create(tx, agent, { kind: 'owner', agent_a: agent.agent_id, agent_b: null })
  return readBack(tx, agent.project_id, id)
}

async function create(
  tx: Tx,
  agent: Admitted,
  shape: { kind: 'peer' | 'owner'; agent_a: string; agent_b: string | null },
): Promise<string> {
  const id = await store.insertConversation(tx, { project_id: agent.project_id, ...shape })
  await recordAudit(tx, {
    kind: 'conversation.opened',
    actor: agentActor(agent),
    project_id: agent.project_id,
    subject: { type: 'conversation', id },
    details: { kind: shape.kind },
  })
  return id
}

const missing = () => new Error('a conversation that was just inserted is missing')

async function readBack(tx: Tx, projectId: string, id: string): Promise<Conversation> {
  const row = await store.findInProject(tx.db, projectId, id)
  if (row === undefined) throw missing()
  return store.toConversation(row)
}

export function listConversations(context: Context, caller: AgentCaller, query: PageQuery) {
  return readAs(
    context,
    caller,
    async (db, agent) => {
      const { items: conversations, ...page } = await store.listForAgent(db, agent.agent_id, query)
      return { conversations, ...page }
    },
    { alone: [] },
  )
}

export function getConversation(context: Context, caller: AgentCaller, id: string): Promise<Conversation> {
  return readAs(
    context,
    caller,
    async (db, agent) => {
      const found = requireReadable(await store.findForAgent(db, agent.project_id, agent.agent_id, id))
      return store.toConversation(found.row)
    },
    { alone: [] },
  )
}
