/** Conversations: one per pair of agents, one per agent with the owner. Contract §7. */
import { type Static, Type } from 'typebox'
import { endpoint } from '../endpoint.ts'
import { limits } from '../limits.ts'
import {
  IdParams,
  Name,
  Nullable,
  named,
  PageQuery,
  pageOf,
  ref,
  Sequence,
  Strict,
  Timestamp,
  Uuid,
} from '../primitives.ts'
import { Message } from './messages.ts'

export const ConversationInput = named('ConversationInput', Strict({ recipient_agent_id: Uuid }))
export type ConversationInput = Static<typeof ConversationInput>

export const Participant = named(
  'Participant',
  Type.Object({
    kind: Type.Union([Type.Literal('agent'), Type.Literal('owner')]),
    agent_id: Nullable(Uuid),
    name: Name,
  }),
)

export const Conversation = named(
  'Conversation',
  Type.Object({
    id: Uuid,
    project_id: Uuid,
    kind: Type.Union([Type.Literal('peer'), Type.Literal('owner')]),
    participants: Type.Array(ref(Participant)),
    created_at: Timestamp,
    last_sequence: Sequence,
  }),
)
export type Conversation = Static<typeof Conversation>

export const ConversationList = named('ConversationList', pageOf('conversations', Conversation))

export const MessagePage = named(
  'MessagePage',
  Type.Object({
    messages: Type.Array(ref(Message)),
    has_more: Type.Boolean(),
    next_sequence: Sequence,
    retention_gap: Type.Optional(Type.Object({ removed_through_sequence: Sequence })),
  }),
)
export type MessagePage = Static<typeof MessagePage>

export const HistoryQuery = Strict({
  after_sequence: Type.Optional(Sequence),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: limits.pageMax, default: limits.pageDefault })),
})

export const conversations = {
  open: endpoint({
    id: 'conversations.open',
    method: 'POST',
    path: '/api/v1/conversations',
    caller: 'agent',
    scope: ['messages'],
    idempotent: true,
    summary:
      "Create or retrieve the conversation with a paired peer. The caller's own id names its conversation with the owner.",
    body: ConversationInput,
    response: Conversation,
    errors: ['not_found', 'pairing_disabled', 'state_conflict', 'idempotency_conflict', 'project_paused'],
  }),
  list: endpoint({
    id: 'conversations.list',
    method: 'GET',
    path: '/api/v1/conversations',
    caller: 'agent',
    scope: ['messages'],
    summary: "List the caller's conversations.",
    query: PageQuery,
    response: ConversationList,
    errors: [],
  }),
  get: endpoint({
    id: 'conversations.get',
    method: 'GET',
    path: '/api/v1/conversations/{id}',
    caller: 'agent',
    scope: ['messages'],
    summary: 'Read one conversation.',
    params: IdParams,
    response: Conversation,
    errors: ['not_found'],
  }),
  history: endpoint({
    id: 'conversations.history',
    method: 'GET',
    path: '/api/v1/conversations/{id}/messages',
    caller: 'agent',
    scope: ['messages'],
    summary: 'Read the history in ascending sequence.',
    params: IdParams,
    query: HistoryQuery,
    response: MessagePage,
    errors: ['not_found'],
  }),
}
