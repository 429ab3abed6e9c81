/** Requests with a valid proof whose outcome depends on stored data: nonces and sessions. */
import {
  build,
  expecting,
  mode,
  modeKey,
  nonceOf,
  now,
  otherPrivateKey,
  type Parts,
  type Situation,
  type SituationRest,
} from './vector.ts'

const otherSession = 'e1b4f0a2-5c3d-4e6f-9a8b-0c1d2e3f4a5b'

const byServer = (expect: string, comment: string, situation: SituationRest = {}): Situation => ({
  ...expecting(expect)(comment, situation),
  judgedBy: 'server',
})

const raw = (name: string, situation: SituationRest): Buffer =>
  Buffer.from(build(name, { expect: 'ok', comment: '', ...situation }).request_raw_b64, 'base64')

const sameNonce = (name: string): Partial<Parts> => ({ nonce: nonceOf(name) })

export const decidedByStore: Record<string, Situation> = {
  'replay-at-once': byServer('request_replayed', 'The same bytes a second time.', { before: (own) => [own] }),
  'replay-of-a-post': byServer('request_replayed', 'An idempotency key does not excuse a replay.', {
    body: mode,
    parts: { idempotencyKey: modeKey },
    before: (own) => [own],
  }),
  'replay-v2': byServer('request_replayed', 'The same bytes a second time, device-bound.', {
    binding: 'device',
    before: (own) => [own],
  }),
  'replay-after-refusal': byServer(
    'request_replayed',
    'The first copy was refused for its body; its nonce is spent.',
    {
      body: '{"mode":"never"}',
      before: (own) => [own],
    },
  ),
  'replay-nonce-on-another-route': byServer(
    'request_replayed',
    'A fresh proof with a nonce that was used elsewhere.',
    {
      before: () => [
        raw('', { parts: { ...sameNonce('replay-nonce-on-another-route'), target: '/api/v1/bootstrap' } }),
      ],
    },
  ),
  'replay-nonce-at-another-time': byServer(
    'request_replayed',
    'A fresh proof a second later with the used nonce.',
    {
      before: () => [
        raw('', { parts: { ...sameNonce('replay-nonce-at-another-time'), time: String(now - 1) } }),
      ],
    },
  ),
  'refused-proof-spends-no-nonce': byServer('ok', 'The nonce was on a request whose proof was wrong.', {
    before: () => [raw('', { signer: otherPrivateKey, parts: sameNonce('refused-proof-spends-no-nonce') })],
  }),
  'session-missing': byServer('invalid_request', 'This route needs a session.', {
    parts: { session: undefined },
  }),
  'session-unknown': byServer('session_unknown', 'No such session.', { parts: { session: otherSession } }),
  'session-of-another-agent': byServer('session_unknown', 'The session is another agent’s.', {
    parts: { session: otherSession },
    otherSessions: [{ id: otherSession, state: 'foreign' }],
  }),
  'session-fenced': byServer('session_fenced', 'A newer session replaced this one.', {
    parts: { session: otherSession },
    otherSessions: [{ id: otherSession, state: 'fenced' }],
  }),
  'session-closed': byServer('session_closed', 'This session was closed.', {
    parts: { session: otherSession },
    otherSessions: [{ id: otherSession, state: 'closed' }],
  }),
}
