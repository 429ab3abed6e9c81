/**
 * A request is charged to the rate of the agent that signed it, once per proof; a failed authentication is
 * charged to its address.
 *
 * Contract §2 "Rate".
 */
import { afterEach, expect, test } from 'vitest'
import { legacyAgent, type TestAgent } from '../../support/agent.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { exchange, type Reply } from '../../support/http.ts'
import { ownerName, ownerPassword } from '../../support/owner.ts'
import { authenticate, openSocket } from '../../support/streams.ts'

let bridge: TestBridge
afterEach(() => bridge.close())

const told = ({ status, json }: Reply) => [status, (json as { error?: string }).error]
const fresh = () => crypto.randomUUID().replaceAll('-', '')

/** Captures one request of the agent, as an attacker could, and returns a function that sends it again. */
function captured(agent: TestAgent, target: string, body?: object): () => Promise<Reply> {
  const bytes = body === undefined ? undefined : JSON.stringify(body)
  const method = body === undefined ? 'GET' : 'POST'
  const headers = agent.sign({ target, body, session: null, key: null }, bytes ?? '')
  return () => exchange(bridge.url, { method, target, headers, body: bytes })
}

test('150 replays of a request are charged to the address that sends them and not to its agent', async () => {
  bridge = await startBridge({
    settings: { rate_per_second: '1', rate_burst: '40', failed_auth_per_minute: '3' },
    monotonicMs: () => 0,
  })
  const send = captured(bridge.ada, '/api/v1/bootstrap')
  expect((await send()).status).toBe(200)
  const replays: Reply[] = []
  for (let n = 0; n < 150; n += 1) replays.push(await send())
  expect(replays.slice(0, 3).map(told)).toEqual(Array(3).fill([401, 'request_replayed']))
  expect(new Set(replays.slice(3).map((reply) => told(reply).join(' ')))).toEqual(
    new Set(['429 rate_limited']),
  )
  const wait = (replays.at(-1)?.json as { retry_after_ms?: number } | undefined)?.retry_after_ms
  expect(wait).toBeGreaterThan(30_000)
  expect(wait).toBeLessThanOrEqual(60_000)
  for (let n = 0; n < 30; n += 1) await bridge.ada.ok({ target: '/api/v1/bootstrap', session: null })
})

test('replays of a request that violates its schema are not charged to its agent either', async () => {
  bridge = await startBridge({ settings: { rate_per_second: '1', rate_burst: '20' } })
  const send = captured(bridge.ada, '/api/v1/sessions', { surplus: 1 })
  expect(told(await send())).toEqual([422, 'invalid_request'])
  for (let n = 0; n < 40; n += 1) expect(told(await send())).toEqual([401, 'request_replayed'])
  for (let n = 0; n < 10; n += 1) await bridge.ada.ok({ target: '/api/v1/bootstrap', session: null })
})

test('replays of the first frame of a socket are not charged to its agent either', async () => {
  bridge = await startBridge({
    settings: { rate_per_second: '1', rate_burst: '20', failed_auth_per_minute: '3' },
  })
  const frame = authenticate(bridge.ada)
  const first = openSocket(bridge.ada, frame)
  await first.take('ready')
  const codes: (string | undefined)[] = []
  for (let n = 0; n < 40; n += 1) codes.push(await openSocket(bridge.ada, frame).reason())
  expect(codes.slice(0, 3)).toEqual(Array(3).fill('request_replayed'))
  expect(new Set(codes.slice(3))).toEqual(new Set(['rate_limited']))
  first.close()
  for (let n = 0; n < 10; n += 1) await bridge.ada.ok({ target: '/api/v1/bootstrap', session: null })
})

const few = { rate_per_second: '1', rate_burst: '4' }

/** Sends forty requests simultaneously, of which the rate admits few; returns their codes. */
async function codesOf(call: () => Promise<Reply>): Promise<string[]> {
  const replies = await Promise.all(Array.from({ length: 40 }, call))
  return [...new Set(replies.map((reply) => told(reply).join(' ')))].toSorted()
}

test('a request over the rate has spent its nonce', async () => {
  bridge = await startBridge({ settings: few })
  const sends = Array.from({ length: 40 }, () => captured(bridge.ada, '/api/v1/bootstrap'))
  const replies = await Promise.all(sends.map((send) => send()))
  const over = sends.filter((_, index) => replies[index]?.status === 429)
  expect(over.length).toBeGreaterThan(10)
  for (const send of over) expect(told(await send())).toEqual([401, 'request_replayed'])
})

test('the rate is checked before the session and before the schema', async () => {
  bridge = await startBridge({ settings: few })
  const { ada } = bridge
  const session = crypto.randomUUID()
  const target = '/api/v1/acknowledgements'
  expect(await codesOf(() => ada.call({ target: '/api/v1/peers', session }))).toEqual([
    '409 session_unknown',
    '429 rate_limited',
  ])
  expect(await codesOf(() => bridge.ben.call({ target, body: { surplus: 1 }, key: null }))).toEqual([
    '422 invalid_request',
    '429 rate_limited',
  ])
})

test('requests with a legacy secret are charged too', async () => {
  bridge = await startBridge({ settings: few })
  const { owner, project, ada, clock } = bridge
  const { credential, secret } = await owner.issueLegacy(project.id, ada.id)
  const agent = legacyAgent(bridge.url, { ...ada.enrolled, credential_id: credential.id }, secret, clock)
  const call = { target: '/api/v1/bootstrap', session: null }
  expect(await codesOf(() => agent.call(call))).toEqual(['200 ', '429 rate_limited'])
})

const json = ['Content-Type', 'application/json'] as const

const posted = (target: string, body: object, ...extra: (readonly [string, string])[]) =>
  exchange(bridge.url, { method: 'POST', target, headers: [json, ...extra], body: JSON.stringify(body) })

/** Each endpoint at which an authentication can fail, and the code of the failure. */
const surfaces: Record<string, { fail: () => Promise<Reply>; code: string }> = {
  "an agent's proof": {
    fail: () => bridge.ada.call({ target: '/api/v1/peers', override: { 'X-Bridge-Proof': 'A'.repeat(86) } }),
    code: 'signature_invalid',
  },
  "an enrolment's code": {
    fail: () => {
      const claim = { code: 'A'.repeat(24), public_key: bridge.ada.keys.publicKey, proof: 'A'.repeat(86) }
      return posted('/api/v1/enrollments/claim', { ...claim, client: { name: 'test', version: '1' } })
    },
    code: 'signature_invalid',
  },
  'a password': {
    fail: () =>
      posted('/api/admin/session', { name: fresh(), password: 'a wrong password' }, ['Origin', bridge.url]),
    code: 'sign_in_failed',
  },
  'a sign-in link': {
    fail: () => posted('/api/admin/session', { link_token: 'A'.repeat(43) }, ['Origin', bridge.url]),
    code: 'sign_in_failed',
  },
  'the telemetry token': {
    fail: () => posted('/api/telemetry/host', {}, ['Authorization', `Bearer ${'A'.repeat(43)}`]),
    code: 'unauthenticated',
  },
}

test('failures are counted separately for each kind of identity, and a success resets none of them', async () => {
  bridge = await startBridge({ settings: { failed_auth_per_minute: '2' } })
  for (const [name, { fail, code }] of Object.entries(surfaces)) {
    expect([told(await fail()), told(await fail())], name).toEqual([
      [401, code],
      [401, code],
    ])
    await bridge.ada.ok({ target: '/api/v1/peers' })
    expect(told(await fail()), name).toEqual([429, 'rate_limited'])
  }
  for (const { fail } of Object.values(surfaces)) expect(told(await fail())).toEqual([429, 'rate_limited'])
})

test("failing agents, links and hosts never block the owner's password", async () => {
  bridge = await startBridge({ settings: { failed_auth_per_minute: '2' } })
  const { 'a password': _, ...others } = surfaces
  for (const { fail } of Object.values(others)) {
    for (let n = 0; n < 10; n += 1) await fail()
  }
  const signedIn = await posted('/api/admin/session', { name: ownerName, password: ownerPassword }, [
    'Origin',
    bridge.url,
  ])
  expect(signedIn.status).toBe(200)
})
