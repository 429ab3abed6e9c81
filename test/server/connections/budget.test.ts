/**
 * Requests without a credential use up a budget of their address, shared by all public endpoints.
 *
 * Contract §2 "public endpoints share a budget per address".
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { RawConnection, requestText } from '../../support/raw-client.ts'

const burst = 20
let bridge: TestBridge
/** Does not advance unless a test moves it. */
let nowMs = 1_000_000

beforeAll(async () => {
  const settings = { public_burst: String(burst), public_per_second: '10' }
  bridge = await startBridge({ monotonicMs: () => nowMs, settings })
})
afterAll(() => bridge.close())

const kept = [['Connection', 'keep-alive'] as const]
const health = requestText({ target: '/api/health', headers: kept })
const claim = requestText({
  method: 'POST',
  target: '/api/v1/enrollments/claim',
  headers: [...kept, ['Content-Type', 'application/json']],
  body: '{}',
})

/** Sends these requests in a row from an address and returns the status of each. */
async function ask(texts: readonly string[], localAddress = '127.0.0.1') {
  const connection = new RawConnection(bridge.url, localAddress).send(texts.join(''))
  const replies = await connection.replies(texts.length)
  connection.leave()
  return replies
}

const many = (text: string, times: number) => Array.from({ length: times }, () => text)
const statuses = async (...of: Parameters<typeof ask>) => (await ask(...of)).map(({ status }) => status)

test('requests without a credential share a burst, then a rate', async () => {
  nowMs += 60_000
  expect(await statuses(many(health, burst))).toEqual(many('', burst).map(() => 200))
  const paths = ['/api/health', '/api/ready', '/api/openapi', '/client', '/client/another.tgz']
  const texts = [...paths.map((target) => requestText({ target, headers: kept })), claim]
  for (const { status, headers, body } of await ask(texts)) {
    expect([status, headers['retry-after']]).toEqual([429, '1'])
    expect(JSON.parse(body)).toMatchObject({ error: 'rate_limited', retry_after_ms: 100 })
  }
  expect(await statuses([requestText({ target: '/api/v1/socket', headers: kept })])).toEqual([429])
  nowMs += 100
  expect(await statuses(many(health, 2))).toEqual([200, 429])
})

test('requests from another address or with a credential do not use this budget', async () => {
  nowMs += 60_000
  await ask(many(health, burst))
  expect(await statuses([health])).toEqual([429])
  expect(await statuses([health], '127.0.0.3')).toEqual([200])
  expect((await bridge.ada.call({ target: '/api/v1/inbox' })).status).toBe(200)
  expect((await bridge.owner.call({ target: '/api/admin/session' })).status).toBe(200)
  const signIn = requestText({
    method: 'POST',
    target: '/api/admin/session',
    headers: [...kept, ['Origin', bridge.url], ['Content-Type', 'application/json']],
    body: '{}',
  })
  expect(await statuses([signIn])).toEqual([422])
})

test("the owner's page has a budget of its own, so a loop of requests does not keep it from the owner", async () => {
  nowMs += 60_000
  await ask(many(health, burst))
  expect(await statuses([health])).toEqual([429])
  const page = requestText({ target: '/', headers: kept })
  expect(await statuses(many(page, burst + 1))).toEqual([...many('', burst).map(() => 200), 429])
})
