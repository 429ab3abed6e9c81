/**
 * A leaked enrolment code: the cost of its second use for the store, and the address that is charged.
 * Contract §4.
 */
import { expect, onTestFinished, test } from 'vitest'
import { generateKeyPair } from '../../sdk/signing/keys.ts'
import { claimBody } from '../support/agent.ts'
import { startBridge } from '../support/bridge.ts'
import { exchange } from '../support/http.ts'
import { openStore } from '../support/test-store.ts'

test('a used code is charged to the address and recorded once per hour', async () => {
  const bridge = await startBridge({ settings: { failed_auth_per_minute: '5' } })
  onTestFinished(bridge.clock.hold())
  const { id } = await bridge.owner.createAgent(bridge.project.id, 'guest')
  const code = await bridge.owner.enrollmentCode(bridge.project.id, id)
  const claim = async () => {
    const body = JSON.stringify(claimBody(code, generateKeyPair()))
    const target = '/api/v1/enrollments/claim'
    const headers = [['Content-Type', 'application/json']] as const
    return (await exchange(bridge.url, { method: 'POST', target, headers, body })).status
  }
  const database = openStore(bridge.data)
  const records = database.prepare("SELECT count(*) FROM audit WHERE kind = 'enrollment.reused'").pluck()
  expect(await claim()).toBe(200)
  const statuses = []
  for (let n = 0; n < 7; n += 1) statuses.push(await claim())
  expect(statuses).toEqual([410, 410, 410, 410, 410, 429, 429])
  expect(records.get()).toBe(1)
  bridge.clock.advance(3590)
  await claim()
  expect(records.get()).toBe(1)
  bridge.clock.advance(20)
  await claim()
  expect(records.get()).toBe(2)
  database.close()
  await bridge.close()
})

test('a known identity gets the state of its code, however many failures its address has', async () => {
  const bridge = await startBridge({ settings: { failed_auth_per_minute: '1' } })
  const { ada, ben, owner, project } = bridge
  const stranger = { override: { 'X-Bridge-Proof': 'A'.repeat(86) } }
  const call = async (agent: typeof ada, fields: object = {}) => {
    const reply = await agent.call({ target: '/api/v1/peers', ...fields })
    return (reply.json as { error?: string }).error
  }
  expect([await call(ada, stranger), await call(ada, stranger)]).toEqual([
    'signature_invalid',
    'rate_limited',
  ])
  await owner.revoke(project.id, ben.enrolled.credential_id)
  expect([await call(ben), await call(ben)]).toEqual(['credential_revoked', 'credential_revoked'])
  expect(await call(ada, { extra: [['X-Bridge-Device', 'os=a;machine=b;install=c']] })).toBe(
    'device_mismatch',
  )
  await bridge.close()
})
