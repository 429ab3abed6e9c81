import type { KeyObject } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type RequestParts, requestV1, requestV2, sha256Hex } from '../../../sdk/signing/canonical.ts'
import { encodeDevice } from '../../../sdk/signing/device.ts'
import { importPublicKey } from '../../../sdk/signing/keys.ts'
import { sign } from '../../../sdk/signing/proof.ts'
import { ApiError } from '../../../server/api-error.ts'
import type { Presented } from '../../../server/identity/raw-headers.ts'
import {
  checkHead,
  checkProof,
  type HeadInput,
  type ProofInput,
  type StoredIdentity,
  secretDigest,
  storedKey,
} from '../../../server/identity/verifier.ts'
import { rfc9421Key } from '../../vectors/vectors.ts'

const publicKey = 'JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs'
const credentialId = '0b9d7a54-3c1e-4f0b-8f6a-2d1f5f7c9e10'
const device = { os: 'linux', machine: 'm1', install: 'i1' }
const now = 1767225610

const keyBound: StoredIdentity = {
  credentialId,
  binding: 'key',
  publicKey: importPublicKey(publicKey),
  device: undefined,
  secretSha256: undefined,
  state: 'active',
}
const deviceBound: StoredIdentity = { ...keyBound, binding: 'device', device }
const secret = 's'.repeat(43)
const legacy: StoredIdentity = {
  ...keyBound,
  binding: 'legacy',
  publicKey: undefined,
  secretSha256: secretDigest(secret),
}

const shown: Presented = {
  credentialId,
  secret: undefined,
  time: String(now),
  nonce: 'AAECAwQFBgcICQoLDA0ODw',
  proof: 'A'.repeat(86),
  device: undefined,
  session: undefined,
  idempotencyKey: undefined,
}

const head = (changes: Partial<HeadInput> = {}): HeadInput => ({
  presented: shown,
  identity: keyBound,
  now: new Date(now * 1000 + 999),
  floor: 0,
  ...changes,
})

test("clock skew gives the server's time, on both sides of the window", () => {
  for (const time of [now - 301, now + 31]) {
    expect(headFault(head({ presented: { ...shown, time: String(time) } }))).toMatchObject({
      code: 'clock_skew',
      details: { server_time: '2026-01-01T00:00:10.999Z' },
    })
  }
  for (const time of [now - 300, now + 30]) {
    expect(headFault(head({ presented: { ...shown, time: String(time) } }))).toBeUndefined()
  }
})

test('a client waits until the nonce floor has passed; afterwards a slow clock is corrected', () => {
  const restored = headFault(head({ floor: now + 30 }))
  expect(restored).toMatchObject({ code: 'unavailable', retryAfterMs: 30_001 })

  const after = head({ floor: now + 30, now: new Date((now + 31) * 1000) })
  expect(headFault(after)).toMatchObject({
    code: 'clock_skew',
    details: { server_time: '2026-01-01T00:00:41.000Z' },
  })
  expect(headFault({ ...after, presented: { ...shown, time: String(now + 31) } })).toBeUndefined()
})

test('a missing proof header is named', () => {
  expect(headFault(head({ presented: { ...shown, nonce: undefined } }))?.message).toContain('X-Bridge-Nonce')
})

test('a wrong legacy secret and an unknown credential get the same refusal, word for word', () => {
  const unknown = headFault(head({ identity: undefined }))
  const wrong = headFault(
    head({ identity: legacy, presented: { ...shown, secret: secret.replace('s', 't') } }),
  )
  expect(wrong).toMatchObject({ code: 'credential_unknown' })
  expect([wrong?.message, wrong?.details]).toEqual([unknown?.message, unknown?.details])
})

test('an identity of another credential is not accepted for the presented one', () => {
  const other = { ...keyBound, credentialId: credentialId.replace('0', '1') }
  expect(headFault(head({ identity: other }))?.code).toBe('credential_unknown')
})

test('a legacy identity without a stored digest, or with one of a wrong length, is refused', () => {
  const presented = { ...shown, secret }
  expect(headFault(head({ presented, identity: legacy }))).toBeUndefined()
  for (const secretSha256 of [undefined, Buffer.alloc(0), secretDigest(secret).subarray(1)]) {
    expect(headFault(head({ presented, identity: { ...legacy, secretSha256 } }))?.code).toBe(
      'credential_unknown',
    )
  }
})

test('a device-bound identity without a stored device, or without a usable key, is refused', async () => {
  const presented = { ...shown, device: encodeDevice(device) }
  expect(headFault(head({ presented, identity: deviceBound }))).toBeUndefined()
  expect(headFault(head({ presented, identity: { ...deviceBound, device: undefined } }))?.code).toBe(
    'device_mismatch',
  )

  const request = signedRequest({ binding: 'device' })
  expect(await proofOutcome(request)).toBe('ok')
  expect(await proofOutcome({ ...request, identity: { ...deviceBound, publicKey: undefined } })).toBe(
    'signature_invalid',
  )
})

test('a stored key that is unsafe to verify with is treated as missing', () => {
  expect(storedKey(publicKey)).toBeDefined()
  expect(storedKey('AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA')).toBeUndefined()
  expect(storedKey('')).toBeUndefined()
})

test('a legacy identity requires no proof', async () => {
  const request = signedRequest({ binding: 'key' })
  const unsigned = { ...request, presented: { ...request.presented, proof: undefined } }
  expect(await proofOutcome(unsigned)).toBe('signature_invalid')
  expect(await proofOutcome({ ...unsigned, identity: legacy })).toBe('ok')
})

const line = fc.string({
  unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)),
  minLength: 1,
})
const anyRequest = fc.record({
  binding: fc.constantFrom('key' as const, 'device' as const),
  target: line.map((rest) => `/api/${rest}`),
  nonce: fc
    .uint8Array({ minLength: 16, maxLength: 48 })
    .map((bytes) => Buffer.from(bytes).toString('base64url')),
  session: fc.option(fc.uuid(), { nil: undefined }),
  idempotencyKey: fc.option(line, { nil: undefined }),
  body: fc.uint8Array({ minLength: 1 }),
})
const covered = [
  'serverId',
  'credentialId',
  'method',
  'target',
  'body',
  'time',
  'nonce',
  'session',
  'idempotencyKey',
  'device',
] as const
type Covered = (typeof covered)[number]

test.each(covered)('a changed byte anywhere in the %s is signature_invalid', async (part) => {
  const change = fc.record({ position: fc.nat(), mask: fc.integer({ min: 1, max: 255 }) })
  const request =
    part === 'device' ? anyRequest.map((any) => ({ ...any, binding: 'device' as const })) : anyRequest
  await fc.assert(
    fc.asyncProperty(request, change, async (drawn, { position, mask }) => {
      expect(await proofOutcome(signedRequest(drawn))).toBe('ok')
      expect(await proofOutcome(changed(signedRequest(drawn), drawn.body, part, position, mask))).toBe(
        'signature_invalid',
      )
    }),
    { numRuns: 60 },
  )
})

test('a changed byte anywhere in the signed text is signature_invalid, including its first line', async () => {
  await fc.assert(
    fc.asyncProperty(
      anyRequest,
      fc.nat(),
      fc.integer({ min: 1, max: 127 }),
      async (drawn, position, mask) => {
        const request = signedRequest({ ...drawn, text: (text) => flippedAt(text, position, mask) })
        expect(await proofOutcome(request)).toBe('signature_invalid')
      },
    ),
  )
})

function headFault(input: HeadInput): ApiError | undefined {
  try {
    checkHead(input)
  } catch (error) {
    if (error instanceof ApiError) return error
    throw error
  }
  return undefined
}

async function proofOutcome(input: ProofInput): Promise<string> {
  try {
    await checkProof(input)
  } catch (error) {
    if (error instanceof ApiError) return error.code
    throw error
  }
  return 'ok'
}

interface Drawn extends Partial<Pick<RequestParts, 'target' | 'nonce' | 'session' | 'idempotencyKey'>> {
  readonly binding: 'key' | 'device'
  readonly body?: Uint8Array
  readonly signer?: KeyObject
  readonly text?: (text: string) => string
}

/** A request as the verifier receives it, signed over its own content or over the edited text. */
function signedRequest({ binding, body = Buffer.from('{}'), text = String, ...drawn }: Drawn): ProofInput {
  const request = {
    serverId: '6f1c2b9e-7d0a-4c55-9a77-0d6d1c5f3a21',
    method: 'POST',
    target: drawn.target ?? '/api/v1/messages',
    bodySha256: sha256Hex(body),
  }
  const { session, idempotencyKey, nonce = 'AAECAwQFBgcICQoLDA0ODw' } = drawn
  const parts = { ...request, credentialId, time: String(now), nonce, session, idempotencyKey }
  const header = encodeDevice(device)
  const canonical = binding === 'device' ? requestV2({ ...parts, device: header }) : requestV1(parts)
  return {
    ...request,
    identity: binding === 'device' ? deviceBound : keyBound,
    presented: {
      ...shown,
      nonce,
      session,
      idempotencyKey,
      device: binding === 'device' ? header : undefined,
      proof: sign(rfc9421Key, text(canonical)),
    },
  }
}

/** The request with one byte of one part changed and the proof of the unchanged one. */
function changed(
  input: ProofInput,
  body: Uint8Array,
  part: Covered,
  position: number,
  mask: number,
): ProofInput {
  const flip = (value: string | undefined): string => flippedAt(value ?? '-', position, mask)
  switch (part) {
    case 'body': {
      const bytes = Buffer.from(body)
      const at = position % bytes.length
      bytes.writeUInt8(bytes.readUInt8(at) ^ mask, at)
      return { ...input, bodySha256: sha256Hex(bytes) }
    }
    case 'serverId':
    case 'method':
    case 'target':
      return { ...input, [part]: flip(input[part]) }
    default:
      return { ...input, presented: { ...input.presented, [part]: flip(input.presented[part]) } }
  }
}

function flippedAt(text: string, position: number, mask: number): string {
  const at = position % text.length
  return text.slice(0, at) + String.fromCharCode(text.charCodeAt(at) ^ mask) + text.slice(at + 1)
}
