/**
 * Signing in during guesses of others, and during a change of the password.
 *
 * Contract §10 "Sign-in".
 */
import { createHook } from 'node:async_hooks'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { testClock } from '../support/clock.ts'
import { exchange, type Reply } from '../support/http.ts'
import { cookieOf, ownerName, ownerPassword, TestOwner } from '../support/owner.ts'
import { isOnPostgres } from '../support/postgres.ts'
import { prolongDelays } from '../support/sign-in-delays.ts'
import { openStore, withStore } from '../support/test-store.ts'
import { expectInTries } from '../support/tries.ts'

/** Slow enough that other requests arrive in between. */
const slow = 14

let bridge: TestBridge

beforeAll(async () => {
  bridge = await startBridge({ settings: { failed_auth_per_minute: '2' } })
})
afterAll(() => bridge.close())

function post(to: TestBridge, target: string, body: object): Promise<Reply> {
  const headers = [
    ['Origin', to.url],
    ['Content-Type', 'application/json'],
  ] as const
  return exchange(to.url, { method: 'POST', target, headers, body: JSON.stringify(body) })
}
const signIn = (to: TestBridge, name: string, password: string) =>
  post(to, '/api/admin/session', { name, password })
const told = ({ status, json }: Reply) => [status, (json as { error?: string }).error]
const confirm = (to: TestBridge, password: string) =>
  to.owner.call({ target: '/api/admin/session/confirm', body: { password } })

test('a password is stored as scrypt with N=2^17, r=8, p=1 and a random salt', async () => {
  const own = await startBridge({ passwordCost: 17 })
  const db = openStore(own.data)
  const stored = db.prepare('SELECT password FROM owner_users').pluck().get()
  db.close()
  expect(stored).toMatch(/^\$scrypt\$ln=17,r=8,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/)
  await own.close()
})

test('a password that changes during its check is refused', async () => {
  const own = await startBridge({ passwordCost: slow })
  const checks = whenHashing()
  const reply = signIn(own, ownerName, ownerPassword)
  await checks
  // Before the hash is told: this process, which is that of the server, does nothing else meanwhile.
  const other = '$scrypt$ln=4,r=8,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'
  withStore(own.data, (store) => store.exec(`UPDATE owner_users SET password = '${other}'`))
  expect(told(await reply)).toEqual([401, 'sign_in_failed'])
  await own.close()
})

/** Resolves when the next password begins to be hashed. */
function whenHashing(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const hook = createHook({ init: (_, type) => type === 'SCRYPTREQUEST' && resolve() }).enable()
  return promise.finally(() => hook.disable())
}

test('a session that begins with the old password ends with the change, whichever is first', async () => {
  const own = await startBridge({ passwordCost: slow })
  const body = { new_password: 'another horse another day' }
  const changed = own.owner.call({ target: '/api/admin/session/password', body })
  // Four, because a fifth wrong password would delay the sign-in at the end.
  const replies = await Promise.all(Array.from({ length: 4 }, () => signIn(own, ownerName, ownerPassword)))
  expect((await changed).status).toBe(200)
  for (const reply of replies.filter((each) => told(each)[1] !== 'sign_in_failed')) {
    const thief = new TestOwner(own.url, cookieOf(reply))
    expect(told(await thief.call({ target: '/api/admin/session' }))).toEqual([401, 'owner_session_expired'])
  }
  expect((await signIn(own, ownerName, body.new_password)).status).toBe(200)
  await own.close()
})

test("wrong passwords under the owner's name do not delay the signed-in owner", async () => {
  const own = await startBridge({ monotonicMs: () => 0 })
  const fail = async (attempt: () => Promise<Reply>) => {
    for (let n = 0; n < 5; n += 1) {
      if (n === 4) prolongDelays(own.data)
      await attempt()
    }
  }
  await fail(() => signIn(own, ownerName, 'a wrong password'))
  expect(told(await signIn(own, ownerName, ownerPassword))).toEqual([429, 'rate_limited'])
  expect((await confirm(own, ownerPassword)).status).toBe(200)
  await fail(() => confirm(own, 'a wrong password'))
  expect(told(await confirm(own, ownerPassword))).toEqual([429, 'rate_limited'])
  await own.close()
})

test.each([
  ['sign-ins', (to: TestBridge, password: string) => signIn(to, ownerName, password)],
  ['confirmations', confirm],
])('of wrong %s at once, only those that are checked together pass the delay', async (_, attempt) => {
  const checked = () => checkedAtOnce(attempt)
  // PostgreSQL may need longer for a record than the next pair for its hashes.
  if (isOnPostgres) await expectInTries(checked, 3)
  else expect(await checked()).toBeLessThan(3)
})

type Attempt = (to: TestBridge, password: string) => Promise<Reply>

/** Returns how many of eight wrong passwords at once were checked. The others were refused for their delay. */
async function checkedAtOnce(attempt: Attempt): Promise<number> {
  const clock = testClock()
  // Each failure is recorded before the next pair is hashed. SQLite needs less time for that.
  const passwordCost = slow + (isOnPostgres ? 3 : 1)
  const own = await startBridge({ clock, monotonicMs: clock.elapsedMs, passwordCost })
  for (let n = 0; n < 4; n += 1) expect((await attempt(own, 'a wrong password')).status).toBe(401)
  // No delay ends during the attempts, however slow the machine is. PostgreSQL measures them by its own clock.
  const resume = clock.hold()
  const change = (values: string) =>
    isOnPostgres && withStore(own.data, (store) => store.exec(`UPDATE sign_in_failures SET ${values}`))
  change('failures = 12')
  const replies = await Promise.all(Array.from({ length: 8 }, () => attempt(own, 'a wrong password')))
  const refusals = replies.map((reply) => told(reply).join(' ')).sort()
  const checked = refusals.filter((each) => each === '401 sign_in_failed').length
  expect(checked).toBeGreaterThan(0)
  expect(refusals.slice(checked)).toEqual(Array(8 - checked).fill('429 rate_limited'))
  expect(told(await attempt(own, ownerPassword))).toEqual([429, 'rate_limited'])
  resume()
  clock.advance(2)
  change('until = clock_timestamp()')
  expect((await attempt(own, ownerPassword)).status).toBe(200)
  await own.close()
  return checked
}

test('a full queue of other sign-ins does not block the signed-in owner from confirming', async () => {
  // Ten are admitted at once, and two more after each pair: one of 48 is refused if they arrive within 19 hashes.
  const own = await startBridge({ passwordCost: slow + 3 })
  const strangers = Array.from({ length: 48 }, (_, n) => signIn(own, `nobody ${n}`, 'a wrong password'))
  const refused = strangers.map(async (each) => expect((await each).status).toBe(429))
  await Promise.any(refused)
  expect((await confirm(own, ownerPassword)).status).toBe(200)
  await Promise.all(strangers)
  await own.close()
})

test('an address far over its limit is refused unchecked, and one slightly over it is still checked', async () => {
  for (let n = 0; n < 5; n += 1) await signIn(bridge, `nobody ${n}`, 'a wrong password')
  expect((await signIn(bridge, ownerName, ownerPassword)).status).toBe(200)
  expect(told(await signIn(bridge, 'nobody 5', 'a wrong password'))).toEqual([429, 'rate_limited'])
  const refused = await signIn(bridge, ownerName, ownerPassword)
  expect(told(refused)).toEqual([429, 'rate_limited'])
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
  // An existing sign-in continues to work.
  expect((await bridge.owner.call({ target: '/api/admin/session' })).status).toBe(200)
})
