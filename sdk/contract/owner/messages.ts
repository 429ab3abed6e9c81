/** Messages from and to the owner, and the history of conversations. Spec §4.3; contract §7, §10. */
import { type Static, Type } from 'typebox'
import { Conversation, ConversationList, MessagePage } from '../agent/conversations.ts'
import { Acknowledged, Acknowledgements, Message } from '../agent/messages.ts'
import { endpoint } from '../endpoint.ts'
import { limits } from '../limits.ts'
import {
  IdParams,
  named,
  OrderedPageQuery,
  PageQuery,
  pageOf,
  ref,
  Sequence,
  Strict,
  Text,
  Timestamp,
  Uuid,
} from '../primitives.ts'

export const OwnerMessageInput = named(
  'OwnerMessageInput',
  Strict({
    recipient_agent_id: Uuid,
    conversation_id: Type.Optional(Uuid),
    type: Type.Optional(Type.Union([Type.Literal('question'), Type.Literal('answer'), Type.Literal('note')])),
    body: Text(limits.messageBodyBytes, 1),
    in_reply_to: Type.Optional(Uuid),
    expects_reply_by: Type.Optional(Timestamp),
  }),
)
export type OwnerMessageInput = Static<typeof OwnerMessageInput>

export const OwnerHistoryQuery = Strict({
  after_sequence: Type.Optional(Sequence),
  before_sequence: Type.Optional(Sequence),
})

/** Message to the owner that is not acknowledged, with its conversation, which names its project and agent. */
export const OwnerInboxMessage = named(
  'OwnerInboxMessage',
  Type.Object({ ...Message.properties, conversation: ref(Conversation) }),
)
export type OwnerInboxMessage = Static<typeof OwnerInboxMessage>

export const OwnerInbox = named('OwnerInbox', pageOf('messages', OwnerInboxMessage))
export type OwnerInbox = Static<typeof OwnerInbox>

export const messages = {
  send: endpoint({
    id: 'owner.messages.send',
    method: 'POST',
    path: '/api/admin/projects/{id}/messages',
    caller: 'owner',
    idempotent: true,
    summary: 'Send a message from the owner to one agent of a conversation.',
    params: IdParams,
    body: OwnerMessageInput,
    response: Message,
    errors: ['not_found', 'idempotency_conflict', 'capacity_reached', 'project_archived'],
  }),
  acknowledge: endpoint({
    id: 'owner.messages.acknowledge',
    method: 'POST',
    path: '/api/admin/projects/{id}/acknowledgements',
    caller: 'owner',
    summary: 'Acknowledge messages that agents sent to the owner. Either all ids are accepted or none.',
    params: IdParams,
    body: Acknowledgements,
    response: Acknowledged,
    errors: ['not_found'],
  }),
}

export const inbox = {
  list: endpoint({
    id: 'owner.inbox.list',
    method: 'GET',
    path: '/api/admin/inbox',
    caller: 'owner',
    summary: 'List the unacknowledged messages to the owner in all projects that the caller may see.',
    query: PageQuery,
    response: OwnerInbox,
    errors: [],
  }),
  ofProject: endpoint({
    id: 'owner.inbox.ofProject',
    method: 'GET',
    path: '/api/admin/projects/{id}/inbox',
    caller: 'owner',
    summary: 'List the unacknowledged messages to the owner in one project.',
    params: IdParams,
    query: PageQuery,
    response: OwnerInbox,
    errors: ['not_found'],
  }),
}

export const conversations = {
  list: endpoint({
    id: 'owner.conversations.list',
    method: 'GET',
    path: '/api/admin/projects/{id}/conversations',
    caller: 'owner',
    summary: 'List the conversations of a project.',
    params: IdParams,
    query: OrderedPageQuery,
    response: ConversationList,
    errors: ['not_found'],
  }),
  get: endpoint({
    id: 'owner.conversations.get',
    method: 'GET',
    path: '/api/admin/projects/{id}/conversations/{conversation_id}',
    caller: 'owner',
    summary: 'Read one conversation.',
    params: Strict({ id: Uuid, conversation_id: Uuid }),
    response: Conversation,
    errors: ['not_found'],
  }),
  history: endpoint({
    id: 'owner.conversations.history',
    method: 'GET',
    path: '/api/admin/projects/{id}/conversations/{conversation_id}/messages',
    caller: 'owner',
    summary: 'Read the history forward or backward, 100 messages per page, each page in ascending order.',
    params: Strict({ id: Uuid, conversation_id: Uuid }),
    query: OwnerHistoryQuery,
    response: MessagePage,
    errors: ['not_found'],
  }),
}
