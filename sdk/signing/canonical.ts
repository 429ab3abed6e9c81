/**
 * Canonical texts for signatures. Signer and verifier build the text to sign with these functions only.
 *
 * - One line per part, joined by a single `\n`, with none at the end.
 * - Every line is non-empty printable ASCII. A part can therefore not contain a line break and pose as two
 *   parts.
 * - No part is normalised: method, target and headers appear exactly as they are sent.
 * - The first line names purpose and version of the text, so that a signature is valid for one purpose only.
 *   Each version has its own function.
 *
 * Contract §3 (requests), §4 (enrolment).
 */
import { hash } from 'node:crypto'

/**
 * Parts of a request that its proof covers, exactly as sent. An absent session or key is written `-`, which
 * neither can be.
 */
export interface RequestParts {
  /** Id of the node, known since enrolment. It makes a proof for one node invalid at another. */
  readonly serverId: string
  readonly credentialId: string
  readonly method: string
  /** Request target as sent, from `/api/` on, including the query. */
  readonly target: string
  /** Lower-case hex SHA-256 of the raw body, after transfer coding is removed. */
  readonly bodySha256: string
  readonly time: string
  readonly nonce: string
  readonly session?: string | undefined
  readonly idempotencyKey?: string | undefined
}

/** Parts that the proof of an enrolment claim covers. */
export interface EnrollParts {
  /** Lower-case hex SHA-256 of the code's ASCII bytes. */
  readonly codeSha256: string
  /** Base64url of the key's 32 raw bytes. */
  readonly publicKey: string
  /** The exact `X-Bridge-Device` value, if the enrolment is device-bound. */
  readonly device?: string | undefined
}

type Line = readonly [name: string, value: string]

const printable = /^[\x20-\x7e]+$/

/**
 * Returns the text that a key-bound agent signs.
 *
 * @throws TypeError that names the first line which is empty or not printable ASCII.
 */
export function requestV1(parts: RequestParts): string {
  return text([['version', 'bridge-request-v1'], ...requestLines(parts)])
}

/**
 * Returns the text that a device-bound agent signs: the lines of v1, then `X-Bridge-Device` byte for byte.
 *
 * @throws as {@link requestV1}.
 */
export function requestV2(parts: RequestParts & { readonly device: string }): string {
  return text([['version', 'bridge-request-v2'], ...requestLines(parts), ['device', parts.device]])
}

/** Returns the text that a new key signs to claim an enrolment. @throws as {@link requestV1}. */
export function enrollV1(parts: EnrollParts): string {
  return text([
    ['version', 'bridge-enroll-v1'],
    ['code_sha256', parts.codeSha256],
    ['public_key', parts.publicKey],
    ['device', parts.device ?? '-'],
  ])
}

/** Returns the lower-case hex SHA-256. A string is hashed as UTF-8. */
export const sha256Hex = (bytes: Uint8Array | string): string => hash('sha256', bytes)

const requestLines = (parts: RequestParts): Line[] => [
  ['server_id', parts.serverId],
  ['credential_id', parts.credentialId],
  ['method', parts.method],
  ['target', parts.target],
  ['body_sha256', parts.bodySha256],
  ['time', parts.time],
  ['nonce', parts.nonce],
  ['session', parts.session ?? '-'],
  ['idempotency_key', parts.idempotencyKey ?? '-'],
]

function text(lines: readonly Line[]): string {
  lines.forEach(([name, value], index) => {
    if (printable.test(value)) return
    const problem = value === '' ? 'is empty' : 'is not printable ASCII'
    throw new TypeError(`line ${index + 1} of the text to sign (${name}) ${problem}`)
  })
  return lines.map(([, value]) => value).join('\n')
}
