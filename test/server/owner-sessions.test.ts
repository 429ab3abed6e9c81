/**
 * Sign-ins of people: the cookie, its lifetime and owner, and failures that reveal nothing.
 *
 * Contract §10 "Sign-in"; reliability §5.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { limits } from '../../sdk/contract/limits.ts'
import { exchange, type Reply } from '../support/http.ts'
import { cookieOf, ownerName, ownerPassword, TestOwner } from '../support/owner.ts'
import { RawConnection, requestText } from '../support/raw-client.ts'
import { prolongDelays } from '../support/sign-in-delays.ts'
import { expectRefusal } from './endpoints/answers.ts'
import { startWorld, type World } from './endpoints/world.ts'

let world: World

beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world.close())

const session = { target: '/api/admin/session' }
const minute = 60

function signIn(
  to: World,
  body: object,
  more: readonly (readonly [string, string])[] = [],
  origin = to.bridge.url,
) {
  const headers = [['Origin', origin] as const, ['Content-Type', 'application/json'] as const, ...more]
  return exchange(to.bridge.url, { method: 'POST', ...session, headers, body: JSON.stringify(body) })
}

const mine = { name: ownerName, password: ownerPassword }
const whole = (reply: Reply) => reply.headers['set-cookie'] ?? []

describe('the cookie', () => {
  test('has exactly these attributes, and ends with the sign-in', async () => {
    const reply = await signIn(world, mine)
    expect(whole(reply)).toEqual([
      expect.stringMatching(/^bridge_owner_dev=[A-Za-z0-9_-]{43}; Path=\/; HttpOnly; SameSite=Strict$/),
    ])
    const by = new TestOwner(world.bridge.url, cookieOf(reply))
    const ended = await by.call({ target: '/api/admin/session/close', body: {} })
    expect(whole(ended)).toEqual(['bridge_owner_dev=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0'])
    expectRefusal(await by.call(session), 'owner_session_expired')
  })

  test('is bound to its host, and to TLS if the portal uses TLS; plain http has no other cookie', async () => {
    const origin = 'https://bridge.example'
    const { url, token } = await world.ownerless({ portal_origin: origin })
    const headers = [['Origin', origin] as const, ['Content-Type', 'application/json'] as const]
    const body = JSON.stringify({ token, ...mine })
    const reply = await exchange(url, { method: 'POST', target: '/api/admin/setup', headers, body })
    expect(whole(reply)).toEqual([
      expect.stringMatching(
        /^__Host-bridge_owner=[A-Za-z0-9_-]{43}; Path=\/; Secure; HttpOnly; SameSite=Strict$/,
      ),
    ])
    const asked = (cookie: string) =>
      exchange(url, { method: 'GET', ...session, headers: [['Cookie', cookie]] })
    const cookie = cookieOf(reply)
    expect((await asked(cookie)).status).toBe(200)
    const renamed = cookie.replace('__Host-bridge_owner', 'bridge_owner_dev')
    for (const other of [renamed, `${cookie}; ${cookie}`, `${cookie}x`, 'theme=dark']) {
      expectRefusal(await asked(other), 'owner_session_expired', other.split('=')[0])
    }
  })

  test('is new at each sign-in, and a cookie planted earlier is not adopted', async () => {
    const planted = `bridge_owner_dev=${'A'.repeat(43)}`
    const replies = [await signIn(world, mine), await signIn(world, mine, [['Cookie', planted]])]
    const cookies = replies.map(cookieOf)
    expect(new Set([...cookies, planted]).size).toBe(3)
    expectRefusal(await new TestOwner(world.bridge.url, planted).call(session), 'owner_session_expired')
    // The earlier sign-in continues, because it is separate.
    const again = await signIn(world, mine, [['Cookie', cookies[0] ?? '']])
    expect(cookies).not.toContain(cookieOf(again))
    expect((await new TestOwner(world.bridge.url, cookies[0] ?? '').call(session)).status).toBe(200)
  })

  test('is in no file of the store', async () => {
    const token = Buffer.from(cookieOf(await signIn(world, mine)).split('=')[1] ?? '')
    const { data } = world.bridge
    for (const name of readdirSync(data)) {
      const bytes = readFileSync(join(data, name))
      expect([
        name,
        bytes.includes(token),
        bytes.includes(Buffer.from(token.toString(), 'base64url')),
      ]).toEqual([name, false, false])
    }
  })
})

describe('a sign-in', () => {
  test('lasts while it is used, and twelve hours at most', async () => {
    const { owner, bridge } = await world.elsewhere()
    const hours = limits.ownerSessionSeconds / (50 * minute)
    for (let passed = 1; passed < hours; passed += 1) {
      bridge.clock.advance(50 * minute)
      expect((await owner.call(session)).status).toBe(200)
    }
    bridge.clock.advance(50 * minute)
    expectRefusal(await owner.call(session), 'owner_session_expired')
  })

  test('is ended by the eleventh sign-in of the same person, oldest first, and by no other person', async () => {
    const { administrator, link } = await world.owner.ok<{ administrator: { id: string }; link: string }>({
      target: '/api/admin/administrators',
      body: { name: world.name('kim') },
    })
    const first = await world.follow(new URL(link).hash.slice(1))
    const all = [new TestOwner(world.bridge.url, cookieOf(first))]
    for (let count = 0; count < limits.ownerSessionsPerUser; count += 1) {
      const again = await world.owner.ok<{ link: string }>({
        target: `/api/admin/administrators/${administrator.id}/link`,
        body: {},
      })
      const reply = await world.follow(new URL(again.link).hash.slice(1))
      all.push(new TestOwner(world.bridge.url, cookieOf(reply)))
    }
    const statuses = await Promise.all(all.map(async (by) => (await by.call(session)).status))
    expect(statuses).toEqual([401, ...Array(limits.ownerSessionsPerUser).fill(200)])
    expect((await world.owner.call(session)).status).toBe(200)
    const { sessions } = await (all[1] as TestOwner).ok<{ sessions: object[] }>({
      target: '/api/admin/sessions?limit=100',
    })
    expect(sessions).toHaveLength(limits.ownerSessionsPerUser)
  })

  test('that ended without use neither counts among the ten nor is listed', async () => {
    const other = await world.elsewhere()
    const { owner, bridge } = other
    const again = async () => new TestOwner(bridge.url, cookieOf(await signIn(other, mine)))
    for (let count = 1; count < limits.ownerSessionsPerUser; count += 1) await again()
    bridge.clock.advance(50 * minute)
    expect((await owner.call(session)).status).toBe(200)
    bridge.clock.advance(20 * minute)
    const newest = await again()
    for (const by of [owner, newest]) expect((await by.call(session)).status).toBe(200)
    const { sessions } = await newest.ok<{ sessions: object[] }>({ target: '/api/admin/sessions?limit=100' })
    expect(sessions).toHaveLength(2)
  })

  test('is listed and revoked by its own person, and unknown to every other person, including the owner', async () => {
    const kim = await world.administrator()
    const its = await kim.by.ok<{ id: string }>(session)
    const listed = async (by: TestOwner) =>
      (await by.ok<{ sessions: { id: string }[] }>({ target: '/api/admin/sessions?limit=100' })).sessions
    expect((await listed(kim.by)).map(({ id }) => id)).toEqual([its.id])
    expect((await listed(world.owner)).map(({ id }) => id)).not.toContain(its.id)
    const revoke = { target: `/api/admin/sessions/${its.id}/revoke`, body: {} }
    expectRefusal(await world.owner.call(revoke), 'not_found')
    expect((await kim.by.call(session)).status).toBe(200)
    await kim.by.ok(revoke)
    expectRefusal(await kim.by.call(session), 'owner_session_expired')
    expectRefusal(await kim.by.call(revoke), 'owner_session_expired')
  })

  test('that was confirmed does not confirm others', async () => {
    const other = await world.elsewhere()
    const { owner } = other
    const second = await other.signedIn()
    other.bridge.clock.advance(limits.ownerFreshSeconds)
    const dangerous = { target: '/api/admin/administrators', body: { name: 'lee' } }
    await owner.ok({ target: '/api/admin/session/confirm', body: { password: ownerPassword } })
    expectRefusal(await second.call(dangerous), 'reauth_required')
    expect((await owner.call(dangerous)).status).toBe(200)
  })

  test('that is confirmed gets a new token, and the previous one is refused', async () => {
    const by = await world.signedIn()
    const before = await by.ok<{ id: string }>(session)
    const old = new TestOwner(world.bridge.url, by.cookie)
    const confirm = (password: string) =>
      by.call({ target: '/api/admin/session/confirm', body: { password } })
    const refused = await confirm('a wrong password')
    expectRefusal(refused, 'sign_in_failed')
    expect([whole(refused), (await old.call(session)).status]).toEqual([[], 200])
    const reply = await confirm(ownerPassword)
    expect(whole(reply)).toEqual([
      expect.stringMatching(/^bridge_owner_dev=[A-Za-z0-9_-]{43}; Path=\/; HttpOnly; SameSite=Strict$/),
    ])
    expect(cookieOf(reply)).not.toBe(old.cookie)
    expectRefusal(await old.call(session), 'owner_session_expired')
    expect(await by.ok(session)).toMatchObject({ id: before.id })
    // If the answer was lost, the person signs in again.
    expect((await signIn(world, mine)).status).toBe(200)
  })

  test('that is confirmed during a request refuses that request, which carries the previous token', async () => {
    const by = await world.signedIn()
    const name = world.name('cleo')
    const body = JSON.stringify({ name })
    const head = requestText({
      method: 'POST',
      target: `/api/admin/projects/${world.bridge.project.id}/agents`,
      headers: [
        ['Cookie', by.cookie],
        ['Origin', world.bridge.url],
        ['Content-Type', 'application/json'],
        ['Content-Length', String(body.length)],
        ['Expect', '100-continue'],
      ],
    })
    const connection = new RawConnection(world.bridge.url).send(head)
    await connection.until('100 Continue')
    connection.send(body.slice(0, 5))
    await by.ok({ target: '/api/admin/session/confirm', body: { password: ownerPassword } })
    const reply = (await connection.send(body.slice(5)).replies(1)).at(-1)
    connection.leave()
    expect([reply?.status, reply?.error]).toEqual([401, 'owner_session_expired'])
    const { agents } = await by.ok<{ agents: { name: string }[] }>({
      target: `/api/admin/projects/${world.bridge.project.id}/agents?limit=100`,
    })
    expect(agents.map((each) => each.name)).not.toContain(name)
  })

  test('is refused with a link that is older than five minutes or was already followed', async () => {
    const other = await world.elsewhere()
    const used = await other.linkToken()
    expect((await other.follow(used)).status).toBe(200)
    expectRefusal(await other.follow(used), 'sign_in_failed')
    const next = await other.linkToken()
    other.bridge.clock.advance(limits.ownerLinkSeconds + 1)
    expectRefusal(await other.follow(next), 'sign_in_failed')
  })
})

test('a read renews the idle time of a sign-in, and a read that waits does not', async () => {
  const other = await world.elsewhere()
  const [reader, waiter] = [await other.signedIn(), await other.signedIn()]
  const target = `/api/admin/projects/${other.bridge.project.id}/events`
  const read = async () => [
    (await reader.call({ target })).status,
    (await waiter.call({ target: `${target}?wait_seconds=1` })).status,
  ]
  for (const minutes of [20, 20, 19]) {
    other.bridge.clock.advance(60 * minutes)
    expect(await read()).toEqual([200, 200])
  }
  other.bridge.clock.advance(120)
  expect(await read()).toEqual([200, 401])
})

describe('a failed sign-in', () => {
  test('gives the same answer at the same cost for every name', async () => {
    // Hashing is slow enough that skipping it would show on a busy machine.
    const other = await world.elsewhere({ passwordCost: 14 })
    const disabled = await other.administrator()
    const target = `/api/admin/administrators/${disabled.id}`
    const unset = await other.administrator()
    await other.owner.ok({ target: `${target}/state`, body: { state: 'disabled' } })
    const { administrators } = await other.owner.ok<{ administrators: { id: string; name: string }[] }>({
      target: '/api/admin/administrators',
    })
    const nameOf = (id: string) => administrators.find((each) => each.id === id)?.name ?? ''
    const fastest = async (times: number, body: object) => {
      let least = Number.POSITIVE_INFINITY
      for (let n = 0; n < times; n += 1) {
        const started = performance.now()
        const reply = await signIn(other, body)
        least = Math.min(least, performance.now() - started)
        expect(expectRefusal(reply, 'sign_in_failed').message).toBe(said)
      }
      return least
    }
    const said = expectRefusal(await signIn(other, { name: 'who', password: 'x' }), 'sign_in_failed').message
    // A link costs no password check. The fastest of many attempts counts, because a busy machine only adds
    // time.
    const withoutWork = await fastest(20, { link_token: 'A'.repeat(43) })
    for (const name of [ownerName, 'nobody at all', nameOf(disabled.id), nameOf(unset.id)]) {
      // Fewer attempts than the number that delays a name.
      const its = await fastest(3, { name, password: 'a wrong password' })
      expect([name, its > 3 * withoutWork], `${its} ms, ${withoutWork} ms`).toEqual([name, true])
    }
  })

  test('delays an unknown name like a known one', async () => {
    const other = await world.elsewhere({ monotonicMs: () => 0 })
    for (const name of [ownerName, 'nobody']) {
      const answers = []
      for (let n = 0; n < 6; n += 1) {
        if (n === 4) prolongDelays(other.bridge.data)
        answers.push((await signIn(other, { name, password: 'a wrong password' })).status)
      }
      expect([name, ...answers]).toEqual([name, 401, 401, 401, 401, 401, 429])
    }
  })
})
