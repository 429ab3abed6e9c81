/**
 * Messages: stored, offered, acknowledged. The protocol never claims that a message was "delivered".
 *
 * Spec §4.2; contract §6, §7.
 */
import { type Static, Type } from 'typebox'
import { endpoint } from '../endpoint.ts'
import { limits } from '../limits.ts'
import { Connection } from '../presence.ts'
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
  Text,
  Timestamp,
  Uuid,
} from '../primitives.ts'

/**
 * Message types that an agent may send. Only the service creates messages of the types `task` and `transfer`.
 */
export const agentMessageTypes = ['question', 'answer', 'note', 'result', 'status'] as const
export const AgentMessageType = Type.Union([
  Type.Literal('question'),
  Type.Literal('answer'),
  Type.Literal('note'),
  Type.Literal('result'),
  Type.Literal('status'),
])
export const MessageType = Type.Union([AgentMessageType, Type.Literal('task'), Type.Literal('transfer')])
export const Encoding = Type.Union([Type.Literal('text'), Type.Literal('age')])

export const MessageInput = named(
  'MessageInput',
  Strict({
    conversation_id: Uuid,
    recipient_agent_id: Uuid,
    type: AgentMessageType,
    body: Text(limits.messageBodyBytes, 1),
    encoding: Type.Optional(Encoding),
    in_reply_to: Type.Optional(Uuid),
    expects_reply_by: Type.Optional(Timestamp),
  }),
)
export type MessageInput = Static<typeof MessageInput>

export const Sender = named(
  'Sender',
  Type.Object({
    kind: Type.Union([Type.Literal('agent'), Type.Literal('owner'), Type.Literal('system')]),
    agent_id: Type.Optional(Uuid),
    name: Name,
  }),
)

export const Message = named(
  'Message',
  Type.Object({
    id: Uuid,
    conversation_id: Uuid,
    sequence: Sequence,
    sender: ref(Sender),
    recipient: Type.Object({ kind: Type.Union([Type.Literal('agent'), Type.Literal('owner')]) }),
    recipient_agent_id: Uuid,
    type: MessageType,
    body: Type.String(),
    encoding: Encoding,
    in_reply_to: Nullable(Uuid),
    root_id: Uuid,
    hops: Type.Integer({ minimum: 0 }),
    task_id: Nullable(Uuid),
    transfer_id: Nullable(Uuid),
    expects_reply_by: Nullable(Timestamp),
    created_at: Timestamp,
    delivery: Type.Object({
      stored_at: Timestamp,
      first_offered_at: Nullable(Timestamp),
      offers: Type.Integer({ minimum: 0 }),
      acknowledged_at: Nullable(Timestamp),
    }),
  }),
)
export type Message = Static<typeof Message>

/** Message in an offer. `attempt` is 1 in the first offer and higher in each redelivery. */
export const OfferedMessage = named(
  'OfferedMessage',
  Type.Object({
    ...Message.properties,
    delivery: Type.Object({
      ...Message.properties.delivery.properties,
      attempt: Type.Integer({ minimum: 1 }),
      first_offered_at: Timestamp,
    }),
  }),
)
export type OfferedMessage = Static<typeof OfferedMessage>

export const MessageSent = named(
  'MessageSent',
  Type.Object({
    message: ref(Message),
    recipient: Type.Object({ connection: ref(Connection) }),
  }),
)
export type MessageSent = Static<typeof MessageSent>

export const Acknowledgements = named(
  'Acknowledgements',
  Strict({
    message_ids: Type.Array(Uuid, { minItems: 1, maxItems: limits.acknowledgeIds, uniqueItems: true }),
  }),
)
export type Acknowledgements = Static<typeof Acknowledgements>

export const Acknowledged = named(
  'Acknowledged',
  Type.Object({ acknowledged: Type.Array(Uuid), already: Type.Array(Uuid) }),
)
export type Acknowledged = Static<typeof Acknowledged>

export const InboxQuery = Strict({
  wait_seconds: Type.Optional(Type.Integer({ minimum: 0, maximum: limits.inboxWaitSeconds, default: 0 })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: limits.pageMax, default: limits.pageDefault })),
})

export const InboxListQuery = Strict({
  ...PageQuery.properties,
  wait_seconds: InboxQuery.properties.wait_seconds,
})
export type InboxListQuery = Static<typeof InboxListQuery>

export const InboxPage = named(
  'InboxPage',
  Type.Object({
    messages: Type.Array(ref(OfferedMessage)),
    has_more: Type.Boolean(),
    waiting: Type.Integer({ minimum: 0, description: 'Number of unacknowledged messages in the inbox.' }),
  }),
)
export type InboxPage = Static<typeof InboxPage>

/** Page of the inbox: the unacknowledged messages that may be delivered, whether offered before or not. */
export const Unacknowledged = named(
  'Unacknowledged',
  Type.Object({
    ...pageOf('messages', Message).properties,
    waiting: InboxPage.properties.waiting,
  }),
)
export type Unacknowledged = Static<typeof Unacknowledged>

export const messages = {
  send: endpoint({
    id: 'messages.send',
    method: 'POST',
    path: '/api/v1/messages',
    caller: 'agent',
    scope: ['messages'],
    idempotent: true,
    summary: 'Send a message to a peer, or to the owner in the owner conversation.',
    body: MessageInput,
    response: MessageSent,
    errors: [
      'not_found',
      'pairing_disabled',
      'state_conflict',
      'idempotency_conflict',
      'project_paused',
      'conversation_budget',
      'capacity_reached',
    ],
  }),
  get: endpoint({
    id: 'messages.get',
    method: 'GET',
    path: '/api/v1/messages/{id}',
    caller: 'agent',
    scope: ['messages'],
    summary: 'Read one message and its delivery, as sender or recipient.',
    params: IdParams,
    response: Message,
    errors: ['not_found'],
  }),
}

export const inbox = {
  read: endpoint({
    id: 'inbox.read',
    method: 'GET',
    path: '/api/v1/inbox',
    caller: 'agent',
    summary: 'Wait for messages, and offer them. Reading never acknowledges.',
    query: InboxQuery,
    response: InboxPage,
    errors: ['wait_limit', 'capacity_reached'],
  }),
  list: endpoint({
    id: 'inbox.list',
    method: 'GET',
    path: '/api/v1/inbox/messages',
    caller: 'agent',
    summary:
      'List the unacknowledged messages without offering them. With `wait_seconds`, wait until there is one.',
    query: InboxListQuery,
    response: Unacknowledged,
    errors: ['wait_limit', 'capacity_reached'],
  }),
}

export const acknowledgements = {
  create: endpoint({
    id: 'acknowledgements.create',
    method: 'POST',
    path: '/api/v1/acknowledgements',
    caller: 'agent',
    reads: true,
    summary: 'Acknowledge messages by id, after recording them durably. Either all ids are accepted or none.',
    body: Acknowledgements,
    response: Acknowledged,
    errors: ['not_found'],
  }),
}
