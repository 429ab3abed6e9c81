/** Requests whose proof is invalid, each with exactly one fault. */
import { createHash } from 'node:crypto'
import { flipped, fromLittleEndian, groupOrder, proofWithIdentityR, withS } from './odd-proofs.ts'
import {
  credentialId,
  device,
  expecting,
  mode,
  modeKey,
  nonceOf,
  now,
  otherPrivateKey,
  type Situation,
  serverId,
  session,
} from './vector.ts'

const invalid = expecting('signature_invalid')

/** For each line, a different value in the signed text: one byte of it, or of the hashed body, differs. */
const changedLines: readonly (readonly [string, NonNullable<Situation['signed']>])[] = [
  ['version', { version: 'bridge-request-v3' }],
  ['server-id', { serverId: serverId.replace('6', '7') }],
  ['credential-id', { credentialId: credentialId.replace('0', '1') }],
  ['method', { method: 'PUT' }],
  ['target', { target: '/api/v1/connection-modes' }],
  ['body', { body: mode.replace('c', 'C') }],
  ['time', { time: String(now + 1) }],
  ['nonce', { nonce: nonceOf('another') }],
  ['session', { session: session.replace('5', '6') }],
  ['idempotency-key', { idempotencyKey: modeKey.replace('m', 'n') }],
]

const lines: Record<string, Situation> = Object.fromEntries(
  (['key', 'device'] as const).flatMap((binding) =>
    changedLines.map(([line, signed], index): [string, Situation] => [
      `${binding === 'key' ? 'v1' : 'v2'}-line-${index + 1}-${line}`,
      invalid(`Line ${index + 1} of the text is not the request's.`, {
        binding,
        body: mode,
        parts: { idempotencyKey: modeKey },
        signed,
      }),
    ]),
  ),
)

/** The sent target, and the signed one. */
const target = (comment: string, sent: string, signed: string): Situation =>
  invalid(comment, { parts: { target: sent }, signed: { target: signed } })

const targets: Record<string, Situation> = {
  'target-query-reordered': target(
    'The signer sorted the query.',
    '/api/v1/peers?limit=50&after=x',
    '/api/v1/peers?after=x&limit=50',
  ),
  'target-plus-for-percent-20': target(
    '"+" and "%20" are different bytes.',
    '/api/v1/peers?after=a%20b',
    '/api/v1/peers?after=a+b',
  ),
  'target-percent-case': target(
    '"%2f" and "%2F" are different bytes.',
    '/api/v1/peers?after=a%2fb',
    '/api/v1/peers?after=a%2Fb',
  ),
  'target-empty-query': target('A bare "?" was added.', '/api/v1/peers?', '/api/v1/peers'),
  'target-repeated-key': target(
    'A query key was repeated.',
    '/api/v1/peers?limit=50&limit=50',
    '/api/v1/peers?limit=50',
  ),
  'target-query-dropped': target('The query was cut off.', '/api/v1/peers', '/api/v1/peers?limit=50'),
  'target-absolute': target(
    'The signer wrote the whole address.',
    '/api/v1/peers',
    'https://bridge.example/api/v1/peers',
  ),
  'target-without-api': target('The signer left "/api" out.', '/api/v1/peers', '/v1/peers'),
}

/** The sent body, and the one whose hash was signed. */
const body = (comment: string, sent: string, signed: string): Situation =>
  invalid(comment, { body: sent, signed: { body: signed } })

const texts: Record<string, Situation> = {
  'body-bom-added': body('A byte order mark was added.', `\u{feff}${mode}`, mode),
  'body-crlf-for-lf': body('Line ends were changed.', '{"mode":\r\n"checkpoint"}', '{"mode":\n"checkpoint"}'),
  'body-trailing-newline-added': body('A newline was added.', `${mode}\n`, mode),
  'body-empty-for-braces': body('The signer hashed {} and sent nothing.', '', '{}'),
  'body-braces-for-empty': body('The signer hashed nothing and sent {}.', '{}', ''),
  'body-chunk-frames-hashed': invalid('The signer hashed the chunks with their frames.', {
    body: mode,
    chunkBytes: 99,
    signed: { body: `${mode.length.toString(16)}\r\n${mode}\r\n0\r\n\r\n` },
  }),
  'method-lower-case': invalid('The signer wrote the method in lower case.', { signed: { method: 'get' } }),
  'session-added': invalid('A session was added.', { signed: { session: undefined } }),
  'session-removed': invalid('The session was removed.', {
    parts: { session: undefined },
    signed: { session },
  }),
  'idempotency-key-added': invalid('A key was added: one operation could become two.', {
    body: mode,
    parts: { idempotencyKey: modeKey },
    signed: { idempotencyKey: undefined },
  }),
  'idempotency-key-removed': invalid('The key was removed.', {
    body: mode,
    signed: { idempotencyKey: modeKey },
  }),
  'text-trailing-newline': invalid('The text ends with a newline.', { text: (text) => `${text}\n` }),
  'text-crlf': invalid('The lines are joined by CR LF.', { text: (text) => text.replaceAll('\n', '\r\n') }),
  'text-hash-upper-case': invalid('The body hash is in upper case.', {
    text: (text) => text.replace(/[0-9a-f]{64}/, (hash) => hash.toUpperCase()),
  }),
  'text-without-version': invalid('The first line is missing.', {
    text: (text) => text.slice(text.indexOf('\n') + 1),
  }),
  'text-hashed-first': invalid('The signer signed the hash of the text.', {
    text: (text) => createHash('sha256').update(text).digest('hex'),
  }),
}

const proofs: Record<string, Situation> = {
  'v1-text-by-device-bound': invalid('A device-bound identity signs v1 and leaves out its device line.', {
    binding: 'device',
    signed: { version: 'bridge-request-v1' },
  }),
  'v2-text-by-key-bound': invalid('A key-bound identity signs v2.', {
    signed: { version: 'bridge-request-v2', device },
  }),
  'device-line-changed': invalid('os was changed after signing: it may change, but not on the way.', {
    binding: 'device',
    signed: { device: device.replace('linux', 'linuX') },
  }),
  'proof-by-another-key': invalid("Somebody else's key signed.", { signer: otherPrivateKey }),
  'proof-bit-in-r': invalid('One bit of R differs.', { proof: (signature) => flipped(signature, 0) }),
  'proof-bit-in-s': invalid('One bit of S differs.', { proof: (signature) => flipped(signature, 32) }),
  'proof-all-zero': invalid('Sixty-four zero bytes.', {
    unsigned: true,
    proof: () => Buffer.alloc(64).toString('base64url'),
  }),
  'proof-s-plus-l': invalid('S + L satisfies the equation too; a second spelling of a proof is refused.', {
    proof: (signature) => withS(signature, fromLittleEndian(signature.subarray(32)) + groupOrder),
  }),
  'proof-r-not-canonical': invalid('R is the identity, spelled with an unreduced y.', {
    proof: (_signature, text) => proofWithIdentityR(`ee${'ff'.repeat(30)}7f`, text).toString('base64url'),
  }),
  ...weakKey(
    'key-identity',
    'The stored key is the identity: this proof verifies for every text.',
    `01${'00'.repeat(31)}`,
  ),
  ...weakKey('key-identity-with-sign', 'The identity, with the sign bit set.', `01${'00'.repeat(30)}80`),
  ...weakKey('key-not-canonical', 'The identity, spelled with an unreduced y.', `ee${'ff'.repeat(30)}7f`),
}

export const refusedByProof: Record<string, Situation> = { ...lines, ...targets, ...texts, ...proofs }

/**
 * The stored key is a point of small order, and the proof is R = identity, S = 0, which needs no private key.
 */
function weakKey(name: string, comment: string, keyHex: string): Record<string, Situation> {
  return {
    [name]: invalid(comment, {
      identity: { public_key: Buffer.from(keyHex, 'hex').toString('base64url') },
      unsigned: true,
      proof: () => Buffer.from(`01${'00'.repeat(63)}`, 'hex').toString('base64url'),
    }),
  }
}
