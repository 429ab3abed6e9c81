/** Transfers: what is known of a file on its way between two agents. Spec §2; contract §9. */
import { type Static, Type } from 'typebox'
import { Nullable, named, Timestamp, Uuid } from '../primitives.ts'

export const TransferState = Type.Union([
  Type.Literal('offered'),
  Type.Literal('accepted'),
  Type.Literal('verified'),
  Type.Literal('declined'),
  Type.Literal('cancelled'),
  Type.Literal('expired'),
  Type.Literal('failed'),
])

const Size = Type.Integer({ minimum: 0, maximum: 9_007_199_254_740_991 })
const Sha256 = Type.String({ pattern: '^[0-9a-f]{64}$', maxLength: 64 })

/** Hashes and lengths are of the bytes that travel. */
export const Transfer = named(
  'Transfer',
  Type.Object({
    id: Uuid,
    project_id: Uuid,
    conversation_id: Uuid,
    sender_agent_id: Uuid,
    recipient_agent_id: Uuid,
    filename: Type.String(),
    size: Size,
    sha256: Sha256,
    parts: Type.Array(
      Type.Object({ index: Type.Integer({ minimum: 0 }), offset: Size, size: Size, sha256: Sha256 }),
    ),
    mode: Type.Union([Type.Literal('package'), Type.Literal('direct')]),
    encryption: Type.Union([Type.Literal('none'), Type.Literal('age')]),
    state: TransferState,
    expires_at: Timestamp,
    offer: Type.Object({ expires_at: Nullable(Timestamp), endpoint_ready: Type.Boolean() }),
    package: Nullable(
      Type.Object({
        stored_parts: Type.Integer({ minimum: 0 }),
        stored_at: Nullable(Timestamp),
        removed_at: Nullable(Timestamp),
      }),
    ),
    receipt: Nullable(Type.Object({ size: Size, sha256: Sha256, verified_at: Timestamp })),
    cleanup: Type.Object({
      sender_at: Nullable(Timestamp),
      recipient_at: Nullable(Timestamp),
      service_at: Nullable(Timestamp),
    }),
    created_at: Timestamp,
    updated_at: Timestamp,
  }),
)
export type Transfer = Static<typeof Transfer>
