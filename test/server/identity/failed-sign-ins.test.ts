/** The audit of failed sign-ins: which failures are recorded, and with which fields. Contract §10. */
import { request } from 'node:http'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { createFailedSignIns } from '../../../server/identity/failed-sign-ins.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { testClock } from '../../support/clock.ts'
import { ownerName, ownerPassword } from '../../support/owner.ts'
import { isOnPostgres } from '../../support/postgres.ts'
import { withStore } from '../../support/test-store.ts'

interface FailedRecord {
  readonly project_id: string | null
  readonly actor: object
  readonly subject: { readonly type: string; readonly id: string | null }
  readonly details: object
}

const wrong = 'a wrong password'
const proxy = '127.0.0.9'
let bridge: TestBridge

beforeAll(async () => {
  const clock = testClock()
  const settings = { failed_auth_per_minute: '3', trusted_proxy: proxy }
  bridge = await startBridge({ clock, monotonicMs: clock.elapsedMs, settings })
})
afterAll(() => bridge.close())
/** The time separates the records of one test from earlier ones. */
let since: string
beforeEach(() => {
  bridge.clock.advance(61)
  // PostgreSQL measures the delays by its own clock.
  if (isOnPostgres) withStore(bridge.data, (store) => store.exec('DELETE FROM sign_in_failures'))
  since = bridge.clock().toISOString()
})

const signIn = (body: object, localAddress = '127.0.0.1', forwardedFor?: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const headers = {
      Origin: bridge.url,
      'Content-Type': 'application/json',
      ...(forwardedFor && { 'X-Forwarded-For': forwardedFor }),
    }
    const path = '/api/admin/session'
    const { port } = bridge.server
    const method = 'POST'
    // A restart closes the connections that an agent would keep.
    request({ host: '127.0.0.1', port, localAddress, method, path, headers, agent: false }, (response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
      .once('error', reject)
      .end(JSON.stringify(body))
  })
const records = async () => {
  const target = `/api/admin/audit?kind=owner.sign_in_failed&since=${since}`
  return (await bridge.owner.ok<{ audit: FailedRecord[] }>({ target })).audit
}

test('many failures from one address leave one record per minute, including refused attempts and existing names', async () => {
  onTestFinished(bridge.clock.hold())
  const statuses: number[] = []
  for (let n = 0; n < 5; n += 1) statuses.push(await signIn({ name: ownerName, password: wrong }))
  expect(statuses).toEqual([401, 401, 401, 429, 429])
  const [record, ...others] = await records()
  expect(others).toEqual([])
  expect(record).toMatchObject({
    project_id: null,
    actor: { kind: 'anonymous', id: null, name: 'anonymous' },
    subject: { type: 'owner_user' },
    details: { address: '127.0.0.1', by: 'password', name: ownerName },
  })
  expect(record?.subject.id).not.toBeNull()
  bridge.clock.step(-3600)
  bridge.clock.advance(50)
  await signIn({ name: ownerName, password: wrong })
  bridge.clock.step(3600)
  expect(await records()).toHaveLength(1)
  bridge.clock.advance(11)
  await signIn({ name: 'nobody', password: wrong })
  expect(await records()).toHaveLength(2)
})

test('another address gets a separate record in the same minute', async () => {
  for (const address of ['127.0.0.1', '127.0.0.3', '127.0.0.3'])
    await signIn({ name: 'nobody', password: wrong }, address)
  expect((await records()).map(({ details }) => details)).toEqual([
    { address: '127.0.0.1', by: 'password' },
    { address: '127.0.0.3', by: 'password' },
  ])
})

test('a restart within the minute leaves one record per address, and an IPv6 network of /64 counts as one', async () => {
  // A name of its own for each address, so that no delay of a name refuses the attempt first.
  const failFrom = (address: string) => signIn({ name: `nobody ${address}`, password: wrong }, proxy, address)
  const recorded = async () =>
    (await records()).map(({ details }) => (details as { address: string }).address)
  for (const address of ['127.0.0.1', '2001:db8::1']) await failFrom(address)
  bridge = await bridge.restart()
  for (const address of ['127.0.0.1', '2001:db8::2', '2001:db8:0:1::1']) await failFrom(address)
  expect(await recorded()).toEqual(['127.0.0.1', '2001:db8::1', '2001:db8:0:1::1'])
  bridge.clock.advance(61)
  await failFrom('127.0.0.1')
  expect(await recorded()).toEqual(['127.0.0.1', '2001:db8::1', '2001:db8:0:1::1', '127.0.0.1'])
})

test.each([
  ['an unknown name', { name: 'my secret password', password: wrong }, 'password'],
  ['an unknown link', { link_token: 'a'.repeat(43) }, 'link'],
])('the record of %s contains neither the name, the password nor the token', async (_, body, by) => {
  expect(await signIn(body)).toBe(401)
  const all = await records()
  expect(all).toMatchObject([{ subject: { type: 'owner_user', id: null }, details: { by } }])
  for (const secret of Object.values(body)) expect(JSON.stringify(all)).not.toContain(secret)
})

test('a successful sign-in leaves no such record', async () => {
  expect(await signIn({ name: ownerName, password: ownerPassword })).toBe(200)
  expect(await records()).toEqual([])
})

describe('recorded failures', () => {
  const taking = () => {
    let now = 0
    const { take } = createFailedSignIns(() => now)
    const pass = (ms: number) => {
      now += ms
    }
    return { take, pass }
  }

  test('are limited to one per minute and network, and an IPv6 network of /64 counts as one', () => {
    const { take, pass } = taking()
    expect([take('2001:db8::1'), take('2001:db8::2'), take('2001:db8:0:1::1')]).toEqual([true, false, true])
    pass(59_999)
    expect(take('2001:db8::1')).toBe(false)
    pass(1)
    expect([take('2001:db8::1'), take('2001:db8::1')]).toEqual([true, false])
  })

  test('are limited to a thousand per minute for all addresses together', () => {
    const { take, pass } = taking()
    const flood = () => {
      let taken = 0
      for (let n = 0; n < 3000; n += 1) if (take(`10.0.${n >> 8}.${n & 255}`)) taken += 1
      return taken
    }
    expect([flood(), flood()]).toEqual([1000, 0])
    pass(60_000)
    expect([take('192.0.2.1'), flood()]).toEqual([true, 999])
  })
})
