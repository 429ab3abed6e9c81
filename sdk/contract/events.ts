/**
 * What streams carry: the names of SSE events, the frames of the socket, and its close codes.
 *
 * Both tell the same things with the same payloads; the inbox is the same delivery as a long-poll.
 *
 * Spec §6; contract §6.
 */
import { type Static, Type } from 'typebox'
import { OfferedMessage } from './agent/messages.ts'
import { ErrorBody } from './error-body.ts'
import { named, ref, Strict, Timestamp, Uuid } from './primitives.ts'

export const MessagesEvent = named(
  'MessagesEvent',
  Type.Object({ messages: Type.Array(ref(OfferedMessage)) }),
)
export type MessagesEvent = Static<typeof MessagesEvent>

export const Receipt = named('Receipt', Type.Object({ message_id: Uuid, acknowledged_at: Timestamp }))
export type Receipt = Static<typeof Receipt>

/** A hint to the sender; `GET /api/v1/messages/{id}` is the truth. */
export const ReceiptsEvent = named('ReceiptsEvent', Type.Object({ receipts: Type.Array(ref(Receipt)) }))
export type ReceiptsEvent = Static<typeof ReceiptsEvent>

export const HeartbeatEvent = named('HeartbeatEvent', Type.Object({ server_time: Timestamp }))
export type HeartbeatEvent = Static<typeof HeartbeatEvent>

/** Sent before a forced end of a stream: the error code that ended it. */
export const SessionEvent = named('SessionEvent', Type.Object({ code: ErrorBody.properties.error }))
export type SessionEvent = Static<typeof SessionEvent>

/** The first frame of a socket: the signed headers of `GET /api/v1/events`, names in lower case. */
export const AuthenticateFrame = named(
  'AuthenticateFrame',
  Strict({ type: Type.Literal('authenticate'), headers: Type.Record(Type.String(), Type.String()) }),
)
export type AuthenticateFrame = Static<typeof AuthenticateFrame>

export const PingFrame = named('PingFrame', Strict({ type: Type.Literal('ping') }))

/** What the server sends on a socket. */
export type ServerFrame =
  | { readonly type: 'ready'; readonly session_id: string; readonly server_time: string }
  | ({ readonly type: 'messages' } & MessagesEvent)
  | ({ readonly type: 'receipts' } & ReceiptsEvent)
  | ({ readonly type: 'heartbeat' } & HeartbeatEvent)
  | ({ readonly type: 'pong' } & HeartbeatEvent)
  | { readonly type: 'error'; readonly error: ErrorBody }

export const closeCodes = {
  /** The client sent something other than the frames it may send. */
  policy: 1008,
  restart: 1012,
  capacity: 1013,
  authentication: 4401,
  session: 4409,
  limit: 4429,
} as const
