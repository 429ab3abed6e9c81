/**
 * Events of the event stream, frames of the socket, and the socket's close codes.
 *
 * Both carry the same payloads. They offer inbox messages under the same rules as a long-poll.
 *
 * Spec §6; contract §6.
 */
import { type Static, type TSchema, Type } from 'typebox'
import { ErrorBody } from '../error-body.ts'
import { named, ref, Strict, Timestamp, Uuid } from '../primitives.ts'
import { OfferedMessage } from './messages.ts'

export const MessagesEvent = named(
  'MessagesEvent',
  Type.Object({ messages: Type.Array(ref(OfferedMessage)) }),
)
export type MessagesEvent = Static<typeof MessagesEvent>

export const Receipt = named('Receipt', Type.Object({ message_id: Uuid, acknowledged_at: Timestamp }))
export type Receipt = Static<typeof Receipt>

/**
 * Hint to the sender that messages were acknowledged. `GET /api/v1/messages/{id}` gives the authoritative
 * state.
 */
export const ReceiptsEvent = named('ReceiptsEvent', Type.Object({ receipts: Type.Array(ref(Receipt)) }))
export type ReceiptsEvent = Static<typeof ReceiptsEvent>

export const HeartbeatEvent = named('HeartbeatEvent', Type.Object({ server_time: Timestamp }))
export type HeartbeatEvent = Static<typeof HeartbeatEvent>

/** Last event before the server ends a stream early: the error code that is the reason. */
export const SessionEvent = named('SessionEvent', Type.Object({ code: ErrorBody.properties.error }))
export type SessionEvent = Static<typeof SessionEvent>

const event = <const N extends string, T extends TSchema>(name: N, data: T) =>
  Type.Object({ event: Type.Literal(name), data: ref(data) })

/** Event of the stream: the name from its `event` line and the JSON from its `data` line. */
export const StreamEvent = named(
  'StreamEvent',
  Type.Union([
    event('messages', MessagesEvent),
    event('receipts', ReceiptsEvent),
    event('heartbeat', HeartbeatEvent),
    event('session', SessionEvent),
  ]),
)
export type StreamEvent = Static<typeof StreamEvent>

/** First frame of a socket: the signed headers of `GET /api/v1/events`, with lower-case names. */
export const AuthenticateFrame = named(
  'AuthenticateFrame',
  Strict({ type: Type.Literal('authenticate'), headers: Type.Record(Type.String(), Type.String()) }),
)
export type AuthenticateFrame = Static<typeof AuthenticateFrame>

export const PingFrame = named('PingFrame', Strict({ type: Type.Literal('ping') }))

/** Frame that a client sends on a socket: first `authenticate`, then only `ping`. */
export const ClientFrame = named('ClientFrame', Type.Union([ref(AuthenticateFrame), ref(PingFrame)]))
export type ClientFrame = Static<typeof ClientFrame>

const frame = <const N extends string, P extends Record<string, TSchema>>(type: N, fields: P) =>
  Type.Object({ type: Type.Literal(type), ...fields })

/** Frame that the server sends on a socket. */
export const ServerFrame = named(
  'ServerFrame',
  Type.Union([
    frame('ready', { session_id: Uuid, server_time: Timestamp }),
    frame('messages', MessagesEvent.properties),
    frame('receipts', ReceiptsEvent.properties),
    frame('heartbeat', HeartbeatEvent.properties),
    frame('pong', HeartbeatEvent.properties),
    frame('error', { error: ref(ErrorBody) }),
  ]),
)
export type ServerFrame = Static<typeof ServerFrame>

/** WebSocket close codes that the server uses. */
export const closeCodes = {
  /** The client sent a frame that the protocol does not allow. */
  policy: 1008,
  restart: 1012,
  capacity: 1013,
  authentication: 4401,
  session: 4409,
  limit: 4429,
} as const
