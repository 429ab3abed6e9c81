/**
 * Verifies that a request comes from the enrolled identity. These checks use neither the database nor a
 * clock.
 *
 * - `headChecks` run before the body is read, so that a client without an identity cannot make the server
 *   read a body. `proofChecks` run once the hash of the body is known. The first check that refuses
 *   determines the answer.
 * - Mode and version come from the stored identity and never from the request, so no downgrade is possible.
 * - A legacy identity presents a secret and signs nothing. Proof headers that it sends are ignored.
 * - A missing or unusable value refuses the request: no check passes because there is nothing to check.
 *
 * The nonce (`request_replayed`) and the session are checked afterwards against the database. A nonce is
 * spent only if the proof is valid.
 *
 * Contract §2 (order), §3.
 */
import { hash, type KeyObject, timingSafeEqual } from 'node:crypto'
import { headerRules, headers } from '../../sdk/contract/headers.ts'
import { limits } from '../../sdk/contract/limits.ts'
import { type RequestParts, requestV1, requestV2 } from '../../sdk/signing/canonical.ts'
import { type Device, parseDevice } from '../../sdk/signing/device.ts'
import { importPublicKey, KeyError } from '../../sdk/signing/keys.ts'
import { verify } from '../../sdk/signing/proof.ts'
import { ApiError, type ErrorDetail, type PlainCode, type WaitingCode } from '../api-error.ts'
import type { Presented } from './raw-headers.ts'

export interface StoredIdentity {
  readonly credentialId: string
  readonly binding: 'key' | 'device' | 'legacy'
  /**
   * Undefined for legacy, and for a stored key that is unusable; no proof verifies with either. See {@link
   * storedKey}.
   */
  readonly publicKey: KeyObject | undefined
  readonly device: Device | undefined
  readonly secretSha256: Buffer | undefined
  readonly state: 'active' | 'revoked' | 'expired'
}

export interface HeadInput {
  readonly presented: Presented
  readonly identity: StoredIdentity | undefined
  readonly now: Date
  /** Unix seconds up to which the nonce store does not know the used nonces. 0 if it knows all of them. */
  readonly floor: number
}

export interface ProofInput {
  readonly presented: Presented
  readonly identity: StoredIdentity
  readonly serverId: string
  readonly method: string
  readonly target: string
  /**
   * Hash of the received body. For an unread part it is the hash that the sender states, which must be that
   * of the offer.
   */
  readonly bodySha256: string
}

interface Check {
  readonly name: string
  /** The sentence of the contract that the check enforces. */
  readonly sentence: string
}

export type HeadCheck = Check & {
  refuses(input: HeadInput): boolean
  /** Message and details of the refusal, beyond its code. */
  detail?(input: HeadInput): ErrorDetail
} & ({ readonly code: PlainCode } | { readonly code: WaitingCode; retryAfterMs(input: HeadInput): number })

export interface ProofCheck extends Check {
  readonly code: PlainCode
  refuses(input: ProofInput): Promise<boolean>
}

export const headChecks: readonly HeadCheck[] = [
  {
    name: 'credential is known',
    code: 'credential_unknown',
    sentence: 'Unknown credential: 401 credential_unknown.',
    refuses: ({ presented, identity }) => identity?.credentialId !== presented.credentialId,
  },
  {
    // Comes before the state and uses the code of an unknown credential, so that a caller without the secret
    // learns nothing.
    name: 'legacy secret is presented and equal',
    code: 'credential_unknown',
    sentence: 'AgentKey <credential_id>.<secret> for a legacy credential. The node stores only its SHA-256.',
    refuses: ({ presented, identity }) =>
      identity?.binding === 'legacy' && !secretMatches(presented.secret, identity.secretSha256),
  },
  {
    name: 'credential is not revoked',
    code: 'credential_revoked',
    sentence: 'Revoking ends the credential at once.',
    refuses: ({ identity }) => identity?.state === 'revoked',
  },
  {
    name: 'credential is not expired',
    code: 'credential_expired',
    sentence: 'A credential is refused from its expiry on.',
    refuses: ({ identity }) => identity?.state === 'expired',
  },
  {
    name: 'no secret in place of a proof',
    code: 'signature_required',
    sentence: 'A secret is never accepted for a key-bound or device-bound identity.',
    refuses: ({ presented, identity }) => signs(identity) && presented.secret !== undefined,
  },
  proofHeader('time', 'X-Bridge-Time is Unix seconds, ten digits.'),
  proofHeader('nonce', 'X-Bridge-Nonce is base64url of at least 16 random bytes, 22 to 64 characters.'),
  proofHeader('proof', 'X-Bridge-Proof is canonical base64url of the 64 signature bytes, 86 characters.'),
  {
    name: 'no device header beside a device-bound identity',
    code: 'device_mismatch',
    sentence: 'X-Bridge-Device is for device-bound identities only.',
    refuses: ({ presented, identity }) => identity?.binding !== 'device' && presented.device !== undefined,
    detail: () => ({ message: 'This identity is not bound to a device; do not send X-Bridge-Device.' }),
  },
  {
    name: 'device header names the enrolled machine and installation',
    code: 'device_mismatch',
    sentence:
      'X-Bridge-Device holds exactly os, machine, install; machine and install must match, os may change.',
    refuses: ({ presented, identity }) =>
      identity?.binding === 'device' && !sameDevice(presented.device, identity.device),
  },
  {
    name: 'proof is not too old',
    code: 'clock_skew',
    sentence: 'Window: 300 s back.',
    refuses: (input) =>
      signs(input.identity) && !(signedAt(input) >= seconds(input.now) - limits.proofBackSeconds),
    detail: serverTime,
  },
  {
    name: 'proof is not from the future',
    code: 'clock_skew',
    sentence: 'Window: 30 s ahead.',
    refuses: (input) =>
      signs(input.identity) && !(signedAt(input) <= seconds(input.now) + limits.proofAheadSeconds),
    detail: serverTime,
  },
  {
    // The client's clock is right and must not be corrected, so the answer is 503 until the floor has passed.
    name: 'nonce store can tell what was used by now',
    code: 'unavailable',
    sentence: 'A nonce store that is missing or restored refuses proofs dated up to 30 s from now.',
    refuses: (input) =>
      signs(input.identity) && !(signedAt(input) > input.floor) && seconds(input.now) <= input.floor,
    detail: () => ({
      message: 'The server cannot yet tell new requests from replays. Retry after the delay.',
    }),
    retryAfterMs: ({ now, floor }) => (floor + 1) * 1000 - now.getTime(),
  },
  {
    // The floor has passed, so the client's clock is slow. Once corrected by `server_time`, its next proof is
    // accepted.
    name: 'proof is newer than the nonce floor',
    code: 'clock_skew',
    sentence: 'Proofs dated at or before the floor are refused permanently.',
    refuses: (input) => signs(input.identity) && !(signedAt(input) > input.floor),
    detail: serverTime,
  },
]

export const proofChecks: readonly ProofCheck[] = [
  {
    name: 'proof verifies over the request',
    code: 'signature_invalid',
    sentence: 'The proof is Ed25519 over the lines of the version that the stored identity calls for.',
    refuses: async (input) => signs(input.identity) && !(await proves(input)),
  },
]

/** Throws the error of the first check that refuses. Afterwards the identity is known. */
export function checkHead(
  input: HeadInput,
  checks: readonly HeadCheck[] = headChecks,
): asserts input is HeadInput & { readonly identity: StoredIdentity } {
  const refusing = checks.find((check) => check.refuses(input))
  if (refusing === undefined) return
  const detail = refusing.detail?.(input)
  throw 'retryAfterMs' in refusing
    ? new ApiError(refusing.code, { ...detail, retryAfterMs: refusing.retryAfterMs(input) })
    : new ApiError(refusing.code, detail)
}

/** Throws `signature_invalid` unless the stored key signed this request. */
export async function checkProof(
  input: ProofInput,
  checks: readonly ProofCheck[] = proofChecks,
): Promise<void> {
  for (const check of checks) {
    if (await check.refuses(input)) throw new ApiError(check.code)
  }
}

/** The stored form of a legacy secret: SHA-256 of its ASCII characters. */
export const secretDigest = (secret: string): Buffer => hash('sha256', secret, 'buffer')

/** Parses a stored public key. Returns undefined for a key that must not be used for verification. */
export function storedKey(publicKey: string): KeyObject | undefined {
  try {
    return importPublicKey(publicKey)
  } catch (error) {
    if (error instanceof KeyError) return undefined
    throw error
  }
}

function proofHeader(field: 'time' | 'nonce' | 'proof', sentence: string): HeadCheck {
  return {
    name: `${field} is present and well formed`,
    code: 'signature_required',
    sentence,
    refuses: ({ presented, identity }) => signs(identity) && !headerRules[field].test(presented[field] ?? ''),
    detail: () => ({ message: `${headers[field]} is missing or malformed. ${sentence}` }),
  }
}

const signs = (identity: StoredIdentity | undefined): boolean =>
  identity !== undefined && identity.binding !== 'legacy'

/** NaN if there is no usable time. Every comparison with NaN is false. */
const signedAt = ({ presented }: HeadInput): number => Number(presented.time ?? Number.NaN)

const seconds = (instant: Date): number => Math.floor(instant.getTime() / 1000)

function serverTime({ now }: HeadInput): ErrorDetail {
  return { details: { server_time: now.toISOString() } }
}

function secretMatches(secret: string | undefined, stored: Buffer | undefined): boolean {
  if (secret === undefined || stored === undefined) return false
  const digest = secretDigest(secret)
  return digest.length === stored.length && timingSafeEqual(digest, stored)
}

function sameDevice(header: string | undefined, enrolled: Device | undefined): boolean {
  const device = header === undefined ? undefined : parseDevice(header)
  if (device === undefined || enrolled === undefined) return false
  return device.machine === enrolled.machine && device.install === enrolled.install
}

function proves(input: ProofInput): false | Promise<boolean> {
  const text = signedText(input)
  const { publicKey } = input.identity
  if (text === undefined || publicKey === undefined) return false
  return verify(publicKey, text, input.presented.proof ?? '')
}

/**
 * Returns the text that the identity must have signed, or undefined if a value cannot be part of such a text.
 */
function signedText({ presented, identity, ...request }: ProofInput): string | undefined {
  const { credentialId, time = '', nonce = '', device = '', session, idempotencyKey } = presented
  const parts: RequestParts = { ...request, credentialId, time, nonce, session, idempotencyKey }
  try {
    return identity.binding === 'device' ? requestV2({ ...parts, device }) : requestV1(parts)
  } catch (error) {
    if (error instanceof TypeError) return undefined
    throw error
  }
}
