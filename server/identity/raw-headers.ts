/**
 * Reads the protocol's headers from the raw header list.
 *
 * - `req.headers` is not used: Node keeps only the first `Authorization` there and joins other duplicates.
 * - Each header is allowed at most once, in any letter case. `X_Bridge_Session` with underscores is a different
 *   header.
 * - The forms of `X-Bridge-Session` and `Idempotency-Key` are checked here for every identity, so neither can
 *   be the `-` that means absence in the signed text. The verifier checks the proof headers, because the
 *   stored identity decides which are needed.
 *
 * The values are the raw strings, byte for byte. Contract §2 (order: header shape, then credential), §3.
 */
import { headerRules, headers } from '../../sdk/contract/headers.ts'
import { ApiError } from '../api-error.ts'

export interface Presented {
  readonly credentialId: string
  readonly secret: string | undefined
  readonly time: string | undefined
  readonly nonce: string | undefined
  readonly proof: string | undefined
  readonly device: string | undefined
  readonly session: string | undefined
  readonly idempotencyKey: string | undefined
}

type Field = 'authorization' | 'time' | 'nonce' | 'proof' | 'device' | 'session' | 'idempotencyKey'
type Found = Partial<Record<Field, string>>

const fields: readonly Field[] = [
  'authorization',
  'time',
  'nonce',
  'proof',
  'device',
  'session',
  'idempotencyKey',
]
const fieldByName: ReadonlyMap<string, Field> = new Map(
  fields.map((field) => [headers[field].toLowerCase(), field]),
)

/**
 * Reads the protocol's headers from Node's alternating list of names and values. The route decides whether a
 * session or key is required.
 *
 * @throws ApiError `unauthenticated` for a repeated Authorization or X-Bridge-* header, or if Authorization
 * is missing or malformed; `invalid_request` for a repeated or malformed Idempotency-Key, or a malformed
 * X-Bridge-Session
 */
export function presented(rawHeaders: readonly string[]): Presented {
  const found = readOnce(rawHeaders)
  const [, credentialId, secret] = headerRules.authorization.exec(found.authorization ?? '') ?? []
  if (credentialId === undefined) {
    throw new ApiError('unauthenticated', { message: 'Authorization must be "AgentKey <credential_id>".' })
  }
  requireForm(found, 'session', 'must be a lower-case uuid')
  requireForm(found, 'idempotencyKey', keyForm)
  return {
    credentialId,
    secret,
    time: found.time,
    nonce: found.nonce,
    proof: found.proof,
    device: found.device,
    session: found.session,
    idempotencyKey: found.idempotencyKey,
  }
}

/**
 * Checks the Idempotency-Key of a request that no agent signs.
 *
 * @throws ApiError `invalid_request` if it is missing, repeated or malformed
 */
export function requireIdempotencyKey(rawHeaders: readonly string[]): void {
  const name = headers.idempotencyKey.toLowerCase()
  const keys = rawHeaders.filter(
    (_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === name,
  )
  if (keys.length > 1) throw duplicate('idempotencyKey')
  if (keys[0] === undefined) throw malformed('idempotencyKey', `is required; it ${keyForm}`)
  requireForm({ idempotencyKey: keys[0] }, 'idempotencyKey', keyForm)
}

const keyForm = 'must be 8 to 128 characters of A-Z a-z 0-9 _ . : -'

/** "Each at most once in the raw header list." */
function readOnce(rawHeaders: readonly string[]): Found {
  const found: Found = {}
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const field = fieldByName.get((rawHeaders[index] ?? '').toLowerCase())
    if (field === undefined) continue
    if (found[field] !== undefined) throw duplicate(field)
    found[field] = rawHeaders[index + 1] ?? ''
  }
  return found
}

function duplicate(field: Field): ApiError {
  const name = headers[field]
  if (field === 'idempotencyKey') return malformed(field, 'must be sent only once')
  return new ApiError('unauthenticated', { message: `${name} was sent more than once.` })
}

function requireForm(found: Found, field: 'session' | 'idempotencyKey', problem: string): void {
  const value = found[field]
  if (value !== undefined && !headerRules[field].test(value)) throw malformed(field, problem)
}

const malformed = (field: 'session' | 'idempotencyKey', problem: string): ApiError =>
  new ApiError('invalid_request', {
    message: `${headers[field]} ${problem}.`,
    details: { faults: [{ path: `header ${headers[field]}`, problem }] },
  })
