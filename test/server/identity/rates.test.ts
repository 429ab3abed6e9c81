/**
 * A failure to prove an identity is charged to the address that it came from.
 *
 * Contract §2 "Rate".
 */
import { afterEach, expect, test } from 'vitest'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { exchange, type Reply } from '../../support/http.ts'
import { ownerName, ownerPassword } from '../../support/owner.ts'

let bridge: TestBridge
afterEach(() => bridge.close())

const told = ({ status, json }: Reply) => [status, (json as { error?: string }).error]
const fresh = () => crypto.randomUUID().replaceAll('-', '')

const json = ['Content-Type', 'application/json'] as const

const posted = (target: string, body: object, ...extra: (readonly [string, string])[]) =>
  exchange(bridge.url, { method: 'POST', target, headers: [json, ...extra], body: JSON.stringify(body) })

/** Each place where somebody can fail to prove an identity, and the code of a failure. */
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

test('failures are counted apart for each kind of identity, and a success forgets none of them', async () => {
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

test("agents, links and hosts that fail never keep the owner's password out", async () => {
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
