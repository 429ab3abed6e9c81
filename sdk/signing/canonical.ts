/**
 * The texts that are signed: the only code that knows their layout. Signer and verifier both call it.
 *
 * - One line a part, joined by a single `\n`, none at the end.
 * - Every line is non-empty printable ASCII, so no part can hold a line break and pose as two.
 * - Nothing is normalised: method, target and headers stand as they travel.
 * - The first line names text and version, so that a signature serves one purpose only. A version is a function.
 *
 * Contract §3 (requests), §4 (enrolment).
 */
import { hash } from 'node:crypto'

/** What a request proof covers, as it travels. Absent headers are written `-`, which neither of the two may be. */
export interface RequestParts {
  /** The installation, learnt at enrolment: a proof for one bridge is useless at another. */
  readonly serverId: string
  readonly credentialId: string
  readonly method: string
  /** As sent, from `/api/` on, query included. */
  readonly target: string
  /** Lower-case hex, of the raw body after any transfer coding is taken off. */
  readonly bodySha256: string
  readonly time: string
  readonly nonce: string
  readonly session?: string | undefined
  readonly idempotencyKey?: string | undefined
}

export interface EnrollParts {
  /** Lower-case hex SHA-256 of the code's ASCII bytes. */
  readonly codeSha256: string
  /** Base64url of the 32 raw bytes. */
  readonly publicKey: string
  /** The exact `X-Bridge-Device` string, when the enrolment is device-bound. */
  readonly device?: string | undefined
}

type Line = readonly [name: string, value: string]

const printable = /^[\x20-\x7e]+$/

/** The text that a key-bound identity signs. @throws TypeError that names the line which is empty or not printable ASCII. */
export function requestV1(parts: RequestParts): string {
  return text([['version', 'bridge-request-v1'], ...requestLines(parts)])
}

/** The text that a device-bound identity signs: v1's lines, then `X-Bridge-Device` byte for byte. @throws as {@link requestV1}. */
export function requestV2(parts: RequestParts & { readonly device: string }): string {
  return text([['version', 'bridge-request-v2'], ...requestLines(parts), ['device', parts.device]])
}

/** The text by which a new key proves itself when it claims an enrolment. @throws as {@link requestV1}. */
export function enrollV1(parts: EnrollParts): string {
  return text([
    ['version', 'bridge-enroll-v1'],
    ['code_sha256', parts.codeSha256],
    ['public_key', parts.publicKey],
    ['device', parts.device ?? '-'],
  ])
}

/** Lower-case hex SHA-256; a string is hashed as UTF-8. */
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
