/**
 * Claiming an enrolment code with a key pair that was generated on this machine.
 *
 * Store the key before the call. If the answer is lost, repeat the call with the same code, key and device:
 * the node answers the same. If the key is lost, the owner must issue a new enrolment.
 *
 * Contract §4.
 */
import type { KeyObject } from 'node:crypto'
import { randomBytes } from 'node:crypto'
import { type Client, type EnrollmentClaimed, enrollments } from '../contract/agent/enrollments.ts'
import { headers } from '../contract/headers.ts'
import { enrollV1, sha256Hex } from '../signing/canonical.ts'
import { publicKeyOf } from '../signing/keys.ts'
import { sign } from '../signing/proof.ts'
import { parseBaseUrl } from '../transport/address.ts'
import { LocalError } from '../transport/failures.ts'
import { type Fetch, pooledFetch } from '../transport/fetch.ts'
import { type CallOptions, Transport } from '../transport/http.ts'
import { defaultClient, userAgentOf } from '../version.ts'

/** Options of {@link enroll}: the node, the code, and the new key. */
export interface EnrollOptions extends CallOptions {
  readonly baseUrl: string
  readonly code: string
  readonly privateKey: KeyObject
  /** The exact X-Bridge-Device, for a device-bound enrolment. */
  readonly device?: string | undefined
  readonly allowPlainHttp?: boolean | undefined
  /** Certificate authority in PEM to trust besides those of the process. It does not apply to a given `fetch`. */
  readonly ca?: string | undefined
  readonly client?: Client | undefined
  readonly fetch?: Fetch | undefined
  readonly random?: ((bytes: number) => Buffer) | undefined
}

/**
 * Claims an enrolment code. Build an `Identity` from the result and the key.
 *
 * @throws BridgeError `unauthenticated` for an unknown code, `enrollment_used`, `enrollment_expired`,
 *   `enrollment_revoked`; LocalError if no answer of a node arrived.
 */
export async function enroll(options: EnrollOptions): Promise<EnrollmentClaimed> {
  const { code, privateKey, device, client = defaultClient } = options
  const pool = pooledFetch(options.ca)
  const transport = new Transport({
    address: parseBaseUrl(options.baseUrl, options),
    authority: { headers: () => ({ ...(device === undefined ? {} : { [headers.device]: device }) }) },
    fetch: options.fetch ?? pool.fetch,
    random: options.random ?? randomBytes,
    userAgent: userAgentOf(client),
  })
  const publicKey = publicKeyOf(privateKey)
  const proof = sign(privateKey, enrollV1({ codeSha256: sha256Hex(code), publicKey, device }))
  const body = { code, public_key: publicKey, proof, client, ...(device === undefined ? {} : { device }) }
  try {
    return checked(await transport.call(enrollments.claim, { body }, options), device)
  } finally {
    await pool.close()
  }
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Checks that the answer is a usable identity, before the caller stores it. */
function checked(claimed: EnrollmentClaimed, device: string | undefined): EnrollmentClaimed {
  const ids = [claimed.server_id, claimed.credential_id, claimed.agent.id, claimed.project.id]
  const isWhole = ids.every((id) => uuid.test(id)) && typeof claimed.agent.name === 'string'
  if (isWhole && claimed.binding === (device === undefined ? 'key' : 'device')) return claimed
  throw new LocalError('bad_response', 'POST /api/v1/enrollments/claim: the answer is not a usable identity')
}
