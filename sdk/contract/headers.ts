/**
 * Header names of the protocol, and the patterns that their values must match.
 *
 * A request may carry each of them at most once.
 *
 * Spec §4.1; contract §3.
 */
export const headers = {
  authorization: 'Authorization',
  time: 'X-Bridge-Time',
  nonce: 'X-Bridge-Nonce',
  proof: 'X-Bridge-Proof',
  device: 'X-Bridge-Device',
  session: 'X-Bridge-Session',
  idempotencyKey: 'Idempotency-Key',
  origin: 'Origin',
  requestId: 'X-Request-Id',
  replayed: 'Idempotency-Replayed',
} as const

const uuid = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'

export const headerRules = {
  /** A credential id alone (key-bound and device-bound), or a credential id and a 256-bit secret (legacy). */
  authorization: new RegExp(`^AgentKey (${uuid})(?:\\.([A-Za-z0-9_-]{43}))?$`),
  /** Unix seconds, ten digits. */
  time: /^[1-9][0-9]{9}$/,
  /** Base64url of at least 16 random bytes. */
  nonce: /^[A-Za-z0-9_-]{22,64}$/,
  /** Base64url of 64 signature bytes; the last character carries only two bits. */
  proof: /^[A-Za-z0-9_-]{85}[AQgw]$/,
  /** Printable ASCII, at most 300 characters. */
  device: /^[\x20-\x7e]{1,300}$/,
  session: new RegExp(`^${uuid}$`),
  idempotencyKey: /^[A-Za-z0-9_.:-]{8,128}$/,
} as const
