/**
 * Transfers: a file that one agent offers to another. The recipient's receipt, with size and hash, completes
 * it.
 *
 * - `package`: the node stores the bytes until the recipient has them.
 * - `direct`: the bytes go from machine to machine. The node passes on only the endpoint and the token of the
 *   serving helper.
 * - Hashes and lengths describe the transmitted bytes. If the file is encrypted, this is the ciphertext.
 * - A finished upload does not complete a transfer. Only a receipt does.
 *
 * Spec §1, §2, §5; contract §9.
 */
import { type Static, Type } from 'typebox'
import { endpoint } from '../endpoint.ts'
import { transferLimits } from '../helper/limits.ts'
import { filenameRule } from '../helper/manifest.ts'
import { limits } from '../limits.ts'
import {
  Empty,
  IdParams,
  Nullable,
  named,
  PageQuery,
  pageOf,
  ref,
  Strict,
  Text,
  Timestamp,
  Uuid,
  words,
} from '../primitives.ts'

/** The states of a transfer. */
export const transferStates = [
  'offered',
  'accepted',
  'verified',
  'declined',
  'failed',
  'cancelled',
  'expired',
] as const
/** One of {@link transferStates}. */
export type TransferState = (typeof transferStates)[number]
export const TransferState = words(transferStates)
/** Final states: the transfer never changes again. */
export const finalTransferStates: ReadonlySet<TransferState> = new Set<TransferState>([
  'verified',
  'declined',
  'failed',
  'cancelled',
  'expired',
])

export const TransferHome = words(['package', 'direct'])
export type TransferHome = Static<typeof TransferHome>

export const Sha256 = Type.String({ pattern: '^[0-9a-f]{64}$', maxLength: 64 })
const Bytes = Type.Integer({ minimum: 0, maximum: limits.sequenceMax })

export const TransferPart = named(
  'TransferPart',
  Strict({
    index: Type.Integer({ minimum: 0, maximum: transferLimits.parts - 1 }),
    offset: Bytes,
    size: Type.Integer({ minimum: 0, maximum: transferLimits.partBytes }),
    sha256: Sha256,
  }),
)
export type TransferPart = Static<typeof TransferPart>

/** Fields of the manifest's file, which both sides agree on. */
const file = {
  filename: Type.String({
    minLength: 1,
    maxLength: transferLimits.filenameChars,
    'x-well-formed': true,
    description: filenameRule,
  }),
  size: Bytes,
  sha256: Sha256,
}
const parts = Type.Array(ref(TransferPart), { minItems: 1, maxItems: transferLimits.parts })

export const TransferInput = named(
  'TransferInput',
  Strict({
    conversation_id: Uuid,
    recipient_agent_id: Uuid,
    ...file,
    parts,
    mode: TransferHome,
    encryption: words(['none', 'age']),
    ttl_seconds: Type.Optional(
      Type.Integer({
        minimum: limits.transferTtlSeconds.min,
        maximum: limits.transferTtlSeconds.max,
        default: limits.transferTtlSeconds.default,
      }),
    ),
  }),
)
export type TransferInput = Static<typeof TransferInput>

const summary = {
  id: Uuid,
  project_id: Uuid,
  conversation_id: Uuid,
  sender_agent_id: Uuid,
  recipient_agent_id: Uuid,
  ...file,
  mode: TransferHome,
  encryption: words(['none', 'age']),
  state: TransferState,
  expires_at: Timestamp,
  offer: Type.Object({
    expires_at: Nullable(Timestamp),
    endpoint_ready: Type.Boolean(),
  }),
  package: Nullable(
    Type.Object({
      stored_parts: Type.Integer({ minimum: 0 }),
      stored_at: Nullable(Timestamp),
      removed_at: Nullable(Timestamp),
    }),
  ),
  receipt: Nullable(Type.Object({ size: Bytes, sha256: Sha256, verified_at: Timestamp })),
  cleanup: Type.Object({
    sender_at: Nullable(Timestamp),
    recipient_at: Nullable(Timestamp),
    service_at: Nullable(Timestamp),
  }),
  created_at: Timestamp,
  updated_at: Timestamp,
}

export const Transfer = named('Transfer', Type.Object({ ...summary, parts }))
export type Transfer = Static<typeof Transfer>

/** Transfer without its parts (there may be 1024), as lists hold it. */
export const TransferSummary = named('TransferSummary', Type.Object(summary))
export type TransferSummary = Static<typeof TransferSummary>

export const TransferList = named('TransferList', pageOf('transfers', TransferSummary))
export type TransferList = Static<typeof TransferList>

export const TransferRole = words(['sender', 'recipient'])
export type TransferRole = Static<typeof TransferRole>

export const TransferListQuery = Strict({
  ...PageQuery.properties,
  state: Type.Optional(TransferState),
  role: Type.Optional(TransferRole),
})
export type TransferListQuery = Static<typeof TransferListQuery>

export const TransferReason = named(
  'TransferReason',
  Strict({ reason: Type.Optional(Text(limits.transferReasonBytes, 1)) }),
)
export type TransferReason = Static<typeof TransferReason>

export const TransferReceipt = named('TransferReceipt', Strict({ size: Bytes, sha256: Sha256 }))
export type TransferReceipt = Static<typeof TransferReceipt>

/** Address and token of the helper that one side runs. No list, log or audit record contains them. */
export const TransferSecret = named(
  'TransferSecret',
  Strict({
    endpoint: Type.String({ minLength: 8, maxLength: 300, pattern: '^https?://[A-Za-z0-9.:\\[\\]-]+$' }),
    token: Type.String({
      pattern: `^[A-Za-z0-9_-]{${transferLimits.tokenChars.min},${transferLimits.tokenChars.max}}$`,
      maxLength: transferLimits.tokenChars.max,
    }),
    expires_at: Timestamp,
    helper_mode: words(['download', 'upload']),
  }),
)
export type TransferSecret = Static<typeof TransferSecret>

const acting = {
  method: 'POST',
  caller: 'agent',
  scope: ['transfers'],
  params: IdParams,
  response: Transfer,
} as const

export const transfers = {
  create: endpoint({
    id: 'transfers.create',
    method: 'POST',
    path: '/api/v1/transfers',
    caller: 'agent',
    scope: ['transfers'],
    idempotent: true,
    summary: 'Offer a file to the peer of a conversation, together with its `transfer` message, atomically.',
    body: TransferInput,
    response: Transfer,
    errors: [
      'not_found',
      'pairing_disabled',
      'state_conflict',
      'manifest_invalid',
      'idempotency_conflict',
      'project_paused',
      'capacity_reached',
    ],
  }),
  list: endpoint({
    id: 'transfers.list',
    method: 'GET',
    path: '/api/v1/transfers',
    caller: 'agent',
    scope: ['transfers'],
    summary: "List the caller's transfers without their parts, oldest first.",
    query: TransferListQuery,
    response: TransferList,
    errors: [],
  }),
  get: endpoint({
    id: 'transfers.get',
    method: 'GET',
    path: '/api/v1/transfers/{id}',
    caller: 'agent',
    scope: ['transfers'],
    summary: 'Read one transfer, as its sender or recipient.',
    params: IdParams,
    response: Transfer,
    errors: ['not_found'],
  }),
  accept: endpoint({
    ...acting,
    id: 'transfers.accept',
    path: '/api/v1/transfers/{id}/accept',
    summary: 'Accept an offer, as its recipient.',
    body: Empty,
    errors: [
      'not_found',
      'not_permitted',
      'state_conflict',
      'offer_expired',
      'project_paused',
      'pairing_disabled',
    ],
  }),
  decline: endpoint({
    ...acting,
    id: 'transfers.decline',
    path: '/api/v1/transfers/{id}/decline',
    summary: 'Decline an offer, as its recipient.',
    body: TransferReason,
    errors: ['not_found', 'not_permitted', 'state_conflict', 'offer_expired'],
  }),
  cancel: endpoint({
    ...acting,
    id: 'transfers.cancel',
    path: '/api/v1/transfers/{id}/cancel',
    summary: 'Cancel a transfer that has not ended, as its sender or recipient.',
    body: TransferReason,
    errors: ['not_found', 'state_conflict', 'offer_expired'],
  }),
  fail: endpoint({
    ...acting,
    id: 'transfers.fail',
    path: '/api/v1/transfers/{id}/fail',
    summary: 'Report that an accepted transfer cannot be finished, as its sender or recipient.',
    body: TransferReason,
    errors: ['not_found', 'state_conflict', 'offer_expired'],
  }),
  receipt: endpoint({
    ...acting,
    id: 'transfers.receipt',
    path: '/api/v1/transfers/{id}/receipt',
    summary: 'Report size and hash of the received bytes, as the recipient. This completes the transfer.',
    body: TransferReceipt,
    errors: ['not_found', 'not_permitted', 'state_conflict', 'offer_expired', 'receipt_mismatch'],
  }),
  cleanup: endpoint({
    ...acting,
    id: 'transfers.cleanup',
    path: '/api/v1/transfers/{id}/cleanup',
    summary: 'Report that the caller deleted its leftover files of an ended transfer.',
    body: Empty,
    errors: ['not_found', 'state_conflict'],
  }),
  deposit: endpoint({
    ...acting,
    id: 'transfers.deposit',
    path: '/api/v1/transfers/{id}/secret',
    summary: 'Store endpoint and token of the helper for the other side, as the side that runs the helper.',
    body: TransferSecret,
    errors: [
      'not_found',
      'not_permitted',
      'state_conflict',
      'offer_expired',
      'project_paused',
      'pairing_disabled',
    ],
  }),
  secret: endpoint({
    id: 'transfers.secret',
    method: 'GET',
    path: '/api/v1/transfers/{id}/secret',
    caller: 'agent',
    scope: ['transfers'],
    summary:
      'Read endpoint and token of the helper that the other side runs, while the transfer is accepted.',
    params: IdParams,
    response: TransferSecret,
    errors: ['not_found', 'not_permitted', 'state_conflict', 'offer_expired', 'pairing_disabled'],
  }),
}
