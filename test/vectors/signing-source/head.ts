/** Requests that are refused before their body is read, each with exactly one fault. */
import { added, replaced, twice, without } from './header-edits.ts'
import { strayBits } from './odd-proofs.ts'
import {
  credentialId,
  device,
  deviceOfLength,
  expecting,
  install,
  machine,
  mode,
  modeKey,
  nonceOf,
  now,
  type Situation,
  secret,
  session,
} from './vector.ts'

const unauthenticated = expecting('unauthenticated')
const malformed = expecting('invalid_request')
const unknown = expecting('credential_unknown')
const required = expecting('signature_required')
const skewed = expecting('clock_skew')
const mismatch = expecting('device_mismatch')

const withSecret = replaced('Authorization', `AgentKey ${credentialId}.${secret}`)
const withWrongSecret = replaced('Authorization', `AgentKey ${credentialId}.${secret.replace('b', 'c')}`)
const withoutProof = without('X-Bridge-Time', 'X-Bridge-Nonce', 'X-Bridge-Proof')

const authorization: Record<string, Situation> = {
  'authorization-missing': unauthenticated('No Authorization.', { wire: without('Authorization') }),
  'authorization-scheme-lower-case': unauthenticated('The scheme is spelled AgentKey.', {
    wire: replaced('Authorization', `agentkey ${credentialId}`),
  }),
  'authorization-bearer': unauthenticated('Another scheme.', {
    wire: replaced('Authorization', `Bearer ${secret}`),
  }),
  'authorization-upper-case-id': unauthenticated('Ids are in lower case.', {
    wire: replaced('Authorization', `AgentKey ${credentialId.toUpperCase()}`),
  }),
  'authorization-short-secret': unauthenticated('A secret has 43 characters.', {
    binding: 'legacy',
    wire: replaced('Authorization', `AgentKey ${credentialId}.${secret.slice(1)}`),
  }),
  'duplicate-authorization': unauthenticated('Authorization twice.', { wire: twice('Authorization') }),
  'duplicate-time': unauthenticated('X-Bridge-Time twice.', { wire: twice('X-Bridge-Time') }),
  'duplicate-nonce': unauthenticated('X-Bridge-Nonce twice.', { wire: twice('X-Bridge-Nonce') }),
  'duplicate-proof': unauthenticated('X-Bridge-Proof twice.', { wire: twice('X-Bridge-Proof') }),
  'duplicate-session': unauthenticated('X-Bridge-Session twice.', { wire: twice('X-Bridge-Session') }),
  'duplicate-device': unauthenticated('X-Bridge-Device twice.', {
    binding: 'device',
    wire: twice('X-Bridge-Device'),
  }),
  'duplicate-idempotency-key': malformed('Idempotency-Key twice.', {
    body: mode,
    parts: { idempotencyKey: modeKey },
    wire: twice('Idempotency-Key'),
  }),
  'idempotency-key-7-characters': malformed('A key has 8 to 128 characters.', {
    body: mode,
    parts: { idempotencyKey: 'too-few' },
  }),
  'idempotency-key-dash': malformed('"-" stands for no key in the text and may be none.', {
    body: mode,
    parts: { idempotencyKey: '-' },
  }),
  'idempotency-key-beyond-ascii': malformed('A key is ASCII.', {
    body: mode,
    parts: { idempotencyKey: 'clé-0001' },
  }),
  'session-not-a-uuid': malformed('A session is a uuid.', { parts: { session: 'current' } }),
  'session-dash': malformed('"-" stands for no session in the text and may be none.', {
    parts: { session: '-' },
  }),
  'session-upper-case': malformed('Uuids are in lower case.', { parts: { session: session.toUpperCase() } }),
}

const credentials: Record<string, Situation> = {
  'credential-unknown': unknown('No such credential.', { identity: null }),
  'credential-revoked': expecting('credential_revoked')('The proof is right; the credential was revoked.', {
    identity: { state: 'revoked' },
  }),
  'credential-expired': expecting('credential_expired')('The proof is right; the credential expired.', {
    identity: { state: 'expired' },
  }),
  'legacy-wrong-secret': unknown('One character of the secret differs.', {
    binding: 'legacy',
    wire: withWrongSecret,
  }),
  'legacy-without-secret': unknown('A legacy credential without its secret.', {
    binding: 'legacy',
    wire: replaced('Authorization', `AgentKey ${credentialId}`),
  }),
  'legacy-wrong-secret-revoked': unknown('Without the secret, the state is not told.', {
    binding: 'legacy',
    identity: { state: 'revoked' },
    wire: withWrongSecret,
  }),
}

const downgrades: Record<string, Situation> = {
  'secret-on-key-bound': required('A secret in place of a proof.', {
    wire: (headers) => withSecret(withoutProof(headers)),
  }),
  'secret-beside-a-proof': required('A secret beside a right proof.', {
    wire: withSecret,
  }),
  'secret-on-device-bound': required('A secret beside a right v2 proof.', {
    binding: 'device',
    wire: withSecret,
  }),
  'proof-headers-missing': required('No time, no nonce, no proof.', {
    wire: withoutProof,
  }),
  'time-missing': required('No X-Bridge-Time.', { wire: without('X-Bridge-Time') }),
  'nonce-missing': required('No X-Bridge-Nonce.', { wire: without('X-Bridge-Nonce') }),
  'proof-missing': required('No X-Bridge-Proof.', { wire: without('X-Bridge-Proof') }),
}

const shapes: Record<string, Situation> = {
  'time-9-digits': required('Nine digits.', { parts: { time: '999999999' } }),
  'time-11-digits': required('Eleven digits.', { parts: { time: '17672256100' } }),
  'time-leading-zero': required('A leading zero.', { parts: { time: `0${now}` } }),
  'time-fraction': required('A fraction.', { parts: { time: `${now}.0` } }),
  'time-exponent': required('A number, but not ten digits.', { parts: { time: '1.76722561e9' } }),
  'nonce-21-characters': required('Less than 16 bytes.', { parts: { nonce: nonceOf('short').slice(1) } }),
  'nonce-65-characters': required('Over 64 characters.', { parts: { nonce: 'n'.repeat(65) } }),
  'nonce-padded': required('Padding.', { parts: { nonce: `${nonceOf('padded')}==` } }),
  'nonce-standard-alphabet': required('"+" and "/" are of the other alphabet.', {
    parts: { nonce: 'AAECAwQFBgcICQoLDA+/Dw' },
  }),
  'proof-85-characters': required('One character less.', {
    proof: (signature) => signature.toString('base64url').slice(0, 85),
  }),
  'proof-87-characters': required('One character more.', {
    proof: (signature) => `${signature.toString('base64url')}A`,
  }),
  'proof-padded': required('The right bytes, padded.', {
    proof: (signature) => `${signature.toString('base64url')}==`,
  }),
  'proof-standard-alphabet': required('The right bytes in the other alphabet.', {
    proof: (signature) => signature.toString('base64').slice(0, 86),
  }),
  'proof-stray-bits': required('The right bytes; the last character carries bits that no byte holds.', {
    proof: (signature) => strayBits(signature.toString('base64url')),
  }),
}

const times: Record<string, Situation> = {
  'time-301-back': skewed('A second too old.', { parts: { time: String(now - 301) } }),
  'time-31-ahead': skewed('A second too far ahead.', { parts: { time: String(now + 31) } }),
  'time-at-floor': skewed('The nonce store forgot what was used up to this second.', {
    floor: now - 10,
    parts: { time: String(now - 10) },
  }),
  'time-before-floor-has-passed': expecting('unavailable')(
    'The nonce store was restored: wait, then sign again.',
    {
      floor: now + 30,
    },
  ),
}

const devices: Record<string, Situation> = {
  'device-missing': mismatch('A device-bound identity without its header.', {
    binding: 'device',
    wire: without('X-Bridge-Device'),
  }),
  'device-on-key-bound': mismatch('v1 does not cover the header, so it may not be there.', {
    wire: added('X-Bridge-Device', device),
  }),
  'device-on-legacy': mismatch('A legacy identity is bound to no device.', {
    binding: 'legacy',
    wire: added('X-Bridge-Device', device),
  }),
  ...signedDevice('device-301-characters', 'One character too long.', deviceOfLength(301)),
  ...signedDevice('device-extra-key', 'A fourth key.', device.replace('}', ',"name":"x"}')),
  ...signedDevice('device-key-missing', 'No os.', `{"machine":"${machine}","install":"${install}"}`),
  ...signedDevice('device-key-twice', 'os twice.', device.replace('{', '{"os":"plan9",')),
  ...signedDevice('device-not-strings', 'os is a number.', device.replace('"linux"', '1')),
  ...signedDevice('device-empty-name', 'os is empty.', device.replace('linux', '')),
  ...signedDevice('device-beyond-ascii', 'A letter beyond ASCII.', device.replace('linux', 'línux')),
  ...signedDevice(
    'device-escaped-control',
    'A control character, escaped.',
    device.replace('linux', '\\u001b[2J'),
  ),
  ...signedDevice('device-not-json', 'Not JSON.', `os=linux; machine=${machine}; install=${install}`),
  ...signedDevice('device-array', 'An array.', `["linux","${machine}","${install}"]`),
  ...signedDevice('device-another-machine', 'Another machine.', device.replace('f7a7', 'f7a8')),
  ...signedDevice('device-another-install', 'Another installation.', device.replace('c7b1', 'c7b2')),
}

export const refusedByHead: Record<string, Situation> = {
  ...authorization,
  ...credentials,
  ...downgrades,
  ...shapes,
  ...times,
  ...devices,
}

/** A signed device header: only the header itself is wrong. */
function signedDevice(name: string, comment: string, header: string): Record<string, Situation> {
  return { [name]: mismatch(comment, { binding: 'device', parts: { device: header } }) }
}
