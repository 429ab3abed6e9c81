/**
 * The requests that a server accepts, among them V1 to V4, whose texts and proofs are pinned by the tests.
 */
import {
  device,
  deviceOfLength,
  expecting,
  type Header,
  install,
  machine,
  mode,
  now,
  type Situation,
  secret,
} from './vector.ts'

const question =
  '{"conversation_id":"3d1b5a0e-2f4c-4e6a-8b7d-9c0e1f2a3b4c","recipient_agent_id":"9f8e7d6c-5b4a-4392-8170-6f5e4d3c2b1a","type":"question","body":"café ✓"}'

const ok = expecting('ok')

/** The given device header is on the wire, signed, and names the enrolled machine and installation. */
const onDevice = (comment: string, header: string): Situation =>
  ok(comment, { binding: 'device', parts: { device: header } })

const respelled = (headers: readonly Header[]): readonly Header[] =>
  headers.map(([name, value], index) => [index % 2 === 0 ? name.toLowerCase() : name.toUpperCase(), value])

const pinned: Record<string, Situation> = {
  'v1-get-with-query': ok('V1: a GET with a query and a session, no idempotency key.', {
    parts: {
      target: '/api/v1/inbox?wait_seconds=20&limit=50',
      time: '1767225600',
      nonce: 'AAECAwQFBgcICQoLDA0ODw',
    },
  }),
  'v1-post-utf8-body': ok('V2: a POST with a body beyond ASCII and an idempotency key.', {
    body: question,
    parts: {
      target: '/api/v1/messages',
      idempotencyKey: 'msg-2026-01-01:0001',
      time: '1767225601',
      nonce: 'EBESExQVFhcYGRobHB0eHw',
    },
  }),
  'v2-post-challenge': ok('V3: device-bound, before there is a session.', {
    binding: 'device',
    body: '{}',
    parts: {
      target: '/api/v1/sessions/challenge',
      session: undefined,
      time: '1767225602',
      nonce: 'ICEiIyQlJicoKSorLC0uLw',
    },
  }),
  'v2-get-events': ok(
    'V4: device-bound; the socket sends these headers in its first frame, as for this GET.',
    {
      binding: 'device',
      parts: { target: '/api/v1/events', time: '1767225603', nonce: 'MDEyMzQ1Njc4OTo7PD0-Pw' },
    },
  ),
}

const targets: Record<string, Situation> = {
  'v1-target-without-session': ok('Bootstrap has no session: line 9 is "-".', {
    parts: { target: '/api/v1/bootstrap', session: undefined },
  }),
  'v1-target-query-order': ok('The order of the query is the sender’s.', {
    parts: { target: '/api/v1/peers?limit=50&after=9f8e7d6c-5b4a-4392-8170-6f5e4d3c2b1a' },
  }),
  'v1-target-plus': ok('A "+" in the query stays a "+".', { parts: { target: '/api/v1/peers?after=a+b' } }),
  'v1-target-percent-20': ok('"%20" stays "%20".', { parts: { target: '/api/v1/peers?after=a%20b' } }),
  'v1-target-percent-lower-case': ok('"%2f" stays in lower case.', {
    parts: { target: '/api/v1/peers?after=a%2fb' },
  }),
  'v1-target-empty-query': ok('A bare "?" is part of the target.', { parts: { target: '/api/v1/peers?' } }),
  'v1-target-repeated-key': ok('A repeated query key stays repeated.', {
    parts: { target: '/api/v1/peers?limit=50&limit=50' },
  }),
}

const bodies: Record<string, Situation> = {
  'v1-body': ok('A POST with a body and a session, no idempotency key.', { body: mode }),
  'v1-body-empty': ok('A POST with Content-Length 0: the hash of no bytes.', { body: '' }),
  'v1-body-chunked': ok('Line 6 is the hash of the bytes after the chunks are joined.', {
    body: mode,
    chunkBytes: 7,
  }),
  'v1-body-with-bom': ok('A byte order mark is hashed as it stands; the body may be refused later.', {
    body: `\u{feff}${mode}`,
  }),
  'v1-body-with-crlf': ok('Line ends in the body are hashed as they stand.', {
    body: '{"mode":\r\n"checkpoint"}',
  }),
  'v1-body-with-trailing-newline': ok('A newline after the JSON is hashed.', { body: `${mode}\n` }),
}

const headerForms: Record<string, Situation> = {
  'v1-time-300-back': ok('The oldest proof that is accepted.', { parts: { time: String(now - 300) } }),
  'v1-time-30-ahead': ok('The furthest proof that is accepted.', { parts: { time: String(now + 30) } }),
  'v1-time-after-floor': ok('The first second after the floor.', {
    floor: now - 10,
    parts: { time: String(now - 9) },
  }),
  'v1-nonce-64-characters': ok('The longest nonce.', {
    parts: { nonce: 'Zm9yIHRoZSBsb25nZXN0X25vbmNl'.padEnd(64, '-_9z') },
  }),
  'v1-idempotency-key-8-characters': ok('The shortest key.', {
    body: mode,
    parts: { idempotencyKey: 'A.:_-z09' },
  }),
  'v1-idempotency-key-128-characters': ok('The longest key.', {
    body: mode,
    parts: { idempotencyKey: 'k'.repeat(128) },
  }),
  'v1-header-names-in-any-case': ok('Header names have no case.', { wire: respelled }),
  'v1-header-underscore-twin': ok('X_Bridge_Session is another header and is ignored.', {
    wire: (headers) => [...headers, ['X_Bridge_Session', '00000000-0000-4000-8000-000000000000']],
  }),
  'v1-header-not-covered': ok('Host, User-Agent and Accept are not covered: proxies rewrite them.', {
    wire: (headers) => [
      ...headers.map(([name, value]): Header => [name, name === 'Host' ? 'another.example' : value]),
      ['User-Agent', 'anything'],
      ['Accept', '*/*'],
    ],
  }),
}

const devices: Record<string, Situation> = {
  'v2-device-os-changed': onDevice('The operating system may change.', device.replace('linux', 'darwin')),
  'v2-device-key-order': onDevice(
    'The order of the three keys is the sender’s.',
    `{"install":"${install}","machine":"${machine}","os":"linux"}`,
  ),
  'v2-device-spaced': onDevice('Spaces in the JSON are the sender’s.', device.replaceAll(',', ', ')),
  'v2-device-300-characters': onDevice('The longest device header.', deviceOfLength(300)),
  'v2-post-with-key': ok('Every line of v2 is filled.', {
    binding: 'device',
    body: mode,
    parts: { idempotencyKey: 'mode-2026-01-01:0001' },
  }),
}

const legacy: Record<string, Situation> = {
  'legacy-secret': ok('A legacy credential is its secret and signs nothing.', { binding: 'legacy' }),
  'legacy-proof-headers-not-read': ok('What a legacy identity sends as a proof is not read.', {
    binding: 'legacy',
    wire: (headers) => [...headers, ['X-Bridge-Time', 'noon'], ['X-Bridge-Proof', secret]],
  }),
}

export const accepted: Record<string, Situation> = {
  ...pinned,
  ...targets,
  ...bodies,
  ...headerForms,
  ...devices,
  ...legacy,
}
