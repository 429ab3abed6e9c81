/**
 * Upload and download of a transfer in `package` mode: the helper's routes, part rules and answers, as signed
 * requests.
 *
 * They answer with the error codes of the main API. Spec §4.5; contract §9 "One transfer protocol, two
 * homes".
 */
import { type Static, Type } from 'typebox'
import { endpoint } from '../endpoint.ts'
import { transferLimits } from '../helper/limits.ts'
import { limits } from '../limits.ts'
import { IdParams, named, Strict, Timestamp, Uuid, words } from '../primitives.ts'
import { Sha256 } from './transfers.ts'

const Bytes = Type.Integer({ minimum: 0, maximum: limits.sequenceMax })
const PartIndex = Type.Integer({ minimum: 0, maximum: transferLimits.parts - 1 })

/** Path parameters are strings: `index` is a decimal number without sign or leading zeros. */
const PartParams = Strict({
  id: Uuid,
  index: Type.String({ pattern: '^(?:0|[1-9][0-9]{0,3})$', maxLength: 4 }),
})

export const PackageStatus = named(
  'PackageStatus',
  Type.Object({
    transfer_id: Uuid,
    mode: words(['upload', 'download']),
    manifest_digest: Sha256,
    manifest_size: Bytes,
    size: Bytes,
    sha256: Sha256,
    expires_at: Timestamp,
    verified: Type.Boolean(),
    committed_parts: Type.Array(PartIndex),
  }),
)
export type PackageStatus = Static<typeof PackageStatus>

export const PackagePart = named(
  'PackagePart',
  Type.Object({ index: PartIndex, size: Bytes, sha256: Sha256, duplicate: Type.Boolean() }),
)
export type PackagePart = Static<typeof PackagePart>

export const PackageVerified = named(
  'PackageVerified',
  Type.Object({ verified: Type.Literal(true), size: Bytes, sha256: Sha256 }),
)
export type PackageVerified = Static<typeof PackageVerified>

/** Schema of a binary body. */
const Octets = Type.String({ format: 'binary' })

const under = '/api/v1/transfers/{id}/package'
const common = { caller: 'agent', scope: ['transfers'] } as const

const uploading = [
  'not_found',
  'not_permitted',
  'state_conflict',
  'offer_expired',
  'project_paused',
  'pairing_disabled',
  'transfer_busy',
] as const
const downloading = [
  'not_found',
  'not_permitted',
  'state_conflict',
  'offer_expired',
  'pairing_disabled',
  'package_removed',
] as const

export const packages = {
  status: endpoint({
    ...common,
    id: 'packages.status',
    method: 'GET',
    path: `${under}/status`,
    summary: 'Read which parts of a package are stored, as its sender or recipient.',
    params: IdParams,
    response: PackageStatus,
    errors: ['not_found', 'state_conflict', 'offer_expired', 'package_removed', 'pairing_disabled'],
  }),
  putPart: endpoint({
    ...common,
    id: 'packages.putPart',
    method: 'PUT',
    path: `${under}/parts/{index}`,
    bytes: 'request',
    summary:
      'Upload one part, as the sender. A repeated upload of the same bytes succeeds; different bytes are refused.',
    params: PartParams,
    response: PackagePart,
    errors: [...uploading, 'body_too_large', 'part_mismatch'],
  }),
  getPart: endpoint({
    ...common,
    id: 'packages.getPart',
    method: 'GET',
    path: `${under}/parts/{index}`,
    bytes: 'response',
    summary: 'Download one part of an uploaded package, as the recipient that accepted it.',
    params: PartParams,
    response: Octets,
    errors: downloading,
  }),
  finalize: endpoint({
    ...common,
    id: 'packages.finalize',
    method: 'POST',
    path: `${under}/finalize`,
    summary:
      'Verify the whole package after uploading every part, as the sender. The recipient sees its `package.stored_at`.',
    params: IdParams,
    response: PackageVerified,
    errors: [...uploading, 'part_mismatch'],
  }),
  file: endpoint({
    ...common,
    id: 'packages.file',
    method: 'GET',
    path: `${under}/file`,
    bytes: 'response',
    summary: 'Download an uploaded package as one file, as the recipient that accepted it.',
    params: IdParams,
    response: Octets,
    errors: downloading,
  }),
}
