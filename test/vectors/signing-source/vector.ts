/**
 * Makes a vector file from a situation: builds the text, signs it, and writes the request's raw bytes.
 *
 * Uses nothing of the SDK, so that a mistake there cannot get into the vectors.
 */
import { createHash, createPrivateKey, type KeyObject, sign } from 'node:crypto'

export interface VectorIdentity {
  readonly binding: 'key' | 'device' | 'legacy'
  readonly credential_id: string
  readonly public_key: string | null
  readonly device: string | null
  readonly secret_sha256: string | null
  readonly state: 'active' | 'revoked' | 'expired'
}

/** One file. README.md beside this file describes each field. */
export interface Vector {
  readonly expect: string
  readonly comment: string
  readonly judged_by: 'verifier' | 'server'
  readonly now: number
  readonly floor: number
  readonly server_id: string
  readonly identity: VectorIdentity | null
  readonly session: string | null
  readonly other_sessions: readonly { readonly id: string; readonly state: 'fenced' | 'closed' | 'foreign' }[]
  readonly before: readonly string[]
  readonly request_raw_b64: string
  readonly canonical_b64: string | null
  readonly proof: string | null
}

/**
 * The lines of the text, and the parts of the request. An absent part is omitted from the request and is `-`
 * in the text.
 */
export interface Parts {
  readonly version: string
  readonly serverId: string
  readonly credentialId: string
  readonly method: string
  readonly target: string
  readonly bodySha256: string
  readonly time: string
  readonly nonce: string
  readonly session: string | undefined
  readonly idempotencyKey: string | undefined
  readonly device: string | undefined
}

export type Header = readonly [name: string, value: string]

export interface Situation {
  readonly expect: string
  readonly comment: string
  readonly judgedBy?: 'server'
  readonly floor?: number
  readonly binding?: VectorIdentity['binding']
  readonly identity?: Partial<VectorIdentity> | null
  readonly otherSessions?: Vector['other_sessions']
  /** The parts shared by request and text. */
  readonly parts?: Partial<Parts>
  readonly body?: string
  /** Sends the body in chunks of this many bytes instead of with its length. */
  readonly chunkBytes?: number
  /** The parts that the signed text has instead. */
  readonly signed?: Partial<Parts> & { readonly body?: string }
  readonly signer?: KeyObject
  /** The last edit of the text before it is signed. */
  readonly text?: (text: string) => string
  /** Replaces the signature over the text in the proof. */
  readonly proof?: (signature: Buffer, text: Buffer) => string
  /** The proof is made without the private key. */
  readonly unsigned?: true
  /** The last edit of the headers before they are sent. */
  readonly wire?: (headers: readonly Header[]) => readonly Header[]
  /** Requests that are sent first, in this order; of a vector named here, only its bytes matter. */
  readonly before?: (own: Buffer) => readonly Buffer[]
}

export type SituationRest = Omit<Situation, 'expect' | 'comment'>

/** Makes a situation with this outcome. */
export const expecting =
  (expect: string) =>
  (comment: string, rest: SituationRest = {}): Situation => ({ expect, comment, ...rest })

export const now = 1767225610
export const serverId = '6f1c2b9e-7d0a-4c55-9a77-0d6d1c5f3a21'
export const credentialId = '0b9d7a54-3c1e-4f0b-8f6a-2d1f5f7c9e10'
export const session = '5a3f0c1d-9e2b-4a76-8c4d-7b6e5f4a3c2d'
export const machine = 'f7a7266df8b420793d51b92561955db28792ce00570593d47d44d954189b3685'
export const install = 'c7b1f8c2-6a5d-4a0e-9c3e-1f2d3c4b5a69'
export const device = `{"os":"linux","machine":"${machine}","install":"${install}"}`
/** Returns a device header of exactly this many characters. */
export const deviceOfLength = (length: number): string =>
  device.replace('linux', 'linux'.padEnd(length - device.length + 'linux'.length, 'x'))

export const publicKey = 'JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs'
export const secret = 'bGVnYWN5LXNlY3JldC1vZi10aGUtdmVjdG9ycy0wMDE'

/** A body that the route of `partsOf` accepts, and a key for it. */
export const mode = '{"mode":"checkpoint"}'
export const modeKey = 'mode-2026-01-01:0001'

const pkcs8 = (seed: string): KeyObject =>
  createPrivateKey({
    key: Buffer.concat([
      Buffer.from('302e020100300506032b657004220420', 'hex'),
      Buffer.from(seed, 'base64url'),
    ]),
    format: 'der',
    type: 'pkcs8',
  })

/** RFC 9421, appendix B.1.4, test-key-ed25519. The private half is public. */
export const seed = 'n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU'
export const privateKey = pkcs8(seed)
/** RFC 8032, section 7.1, TEST 1: the key of another signer. */
export const otherPrivateKey = pkcs8('nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A')

const sha256 = (bytes: string): Buffer => createHash('sha256').update(bytes).digest()

/** Returns a nonce derived from the vector's name, so that new vectors do not change old ones. */
export const nonceOf = (name: string): string =>
  sha256(`nonce of ${name}`).subarray(0, 16).toString('base64url')

export function build(name: string, situation: Situation): Vector {
  const { binding = 'key', signer = privateKey } = situation
  const sent = partsOf(name, situation)
  const text = Buffer.from((situation.text ?? String)(textOf(signedParts(sent, situation))))
  const signature = sign(null, text, signer)
  const legacy = binding === 'legacy'
  const proof = legacy ? null : (situation.proof?.(signature, text) ?? signature.toString('base64url'))
  const request = requestBytes(sent, proof, situation)
  return {
    expect: situation.expect,
    comment: situation.comment,
    judged_by: situation.judgedBy ?? 'verifier',
    now,
    floor: situation.floor ?? 0,
    server_id: serverId,
    identity: identityOf(binding, situation.identity),
    session,
    other_sessions: situation.otherSessions ?? [],
    before: (situation.before?.(request) ?? []).map((bytes) => bytes.toString('base64')),
    request_raw_b64: request.toString('base64'),
    canonical_b64: legacy || situation.unsigned ? null : text.toString('base64'),
    proof,
  }
}

function partsOf(name: string, { binding, parts, body }: Situation): Parts {
  return {
    version: binding === 'device' ? 'bridge-request-v2' : 'bridge-request-v1',
    serverId,
    credentialId,
    method: body === undefined ? 'GET' : 'POST',
    target: body === undefined ? '/api/v1/peers?limit=50' : '/api/v1/connection-mode',
    bodySha256: sha256(body ?? '').toString('hex'),
    time: String(now),
    nonce: nonceOf(name),
    session,
    idempotencyKey: undefined,
    device: binding === 'device' ? device : undefined,
    ...parts,
  }
}

function signedParts(sent: Parts, { signed = {} }: Situation): Parts {
  const { body, ...others } = signed
  return { ...sent, ...(body === undefined ? {} : { bodySha256: sha256(body).toString('hex') }), ...others }
}

function textOf(parts: Parts): string {
  const lines = [
    parts.version,
    parts.serverId,
    parts.credentialId,
    parts.method,
    parts.target,
    parts.bodySha256,
    parts.time,
    parts.nonce,
    parts.session ?? '-',
    parts.idempotencyKey ?? '-',
  ]
  const withDevice = parts.version !== 'bridge-request-v1' && parts.device !== undefined
  return (withDevice ? [...lines, parts.device] : lines).join('\n')
}

function identityOf(
  binding: VectorIdentity['binding'],
  changes: Situation['identity'],
): VectorIdentity | null {
  if (changes === null) return null
  return {
    binding,
    credential_id: credentialId,
    public_key: binding === 'legacy' ? null : publicKey,
    device: binding === 'device' ? device : null,
    secret_sha256: binding === 'legacy' ? sha256(secret).toString('hex') : null,
    state: 'active',
    ...changes,
  }
}

function requestBytes(parts: Parts, proof: string | null, situation: Situation): Buffer {
  const { body, chunkBytes, wire = (headers) => headers } = situation
  const named: [string, string | null | undefined][] = [
    ['Host', 'bridge.example'],
    ['Connection', 'close'],
    ['Authorization', `AgentKey ${parts.credentialId}${proof === null ? `.${secret}` : ''}`],
    ['X-Bridge-Time', proof && parts.time],
    ['X-Bridge-Nonce', proof && parts.nonce],
    ['X-Bridge-Proof', proof],
    ['X-Bridge-Device', parts.device],
    ['X-Bridge-Session', parts.session],
    ['Idempotency-Key', parts.idempotencyKey],
    ['Content-Type', body === undefined ? null : 'application/json'],
    ['Content-Length', body === undefined || chunkBytes ? null : String(Buffer.byteLength(body))],
    ['Transfer-Encoding', chunkBytes ? 'chunked' : null],
  ]
  const present = named.filter((header): header is [string, string] => typeof header[1] === 'string')
  const lines = wire(present).map(([name, value]) => `${name}: ${value}\r\n`)
  const head = Buffer.from(`${parts.method} ${parts.target} HTTP/1.1\r\n${lines.join('')}\r\n`)
  return Buffer.concat([head, chunkBytes ? chunked(body ?? '', chunkBytes) : Buffer.from(body ?? '')])
}

function chunked(body: string, chunkBytes: number): Buffer {
  const bytes = Buffer.from(body)
  const chunks: Buffer[] = []
  for (let start = 0; start < bytes.length; start += chunkBytes) {
    const chunk = bytes.subarray(start, start + chunkBytes)
    chunks.push(Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n'))
  }
  return Buffer.concat([...chunks, Buffer.from('0\r\n\r\n')])
}
