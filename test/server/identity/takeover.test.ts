/**
 * Takeover grants: the owner ends a session, and the holder of the grant starts the next one.
 *
 * Threats T8, T10; contract §5.
 */
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { enroll, legacyAgent } from '../../support/agent.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { storeFiles } from '../../support/test-store.ts'

let bridge: TestBridge
let names = 0

beforeAll(async () => {
  bridge = await startBridge()
})
afterAll(() => bridge.close())

const codeOf = ({ json }: { json: unknown }) => (json as { error?: string }).error
const fresh = () => {
  names += 1
  return bridge.agent(`agent ${names}`)
}
const pending = [409, 'takeover_pending']
const invalid = [401, 'grant_invalid']
const wrong = 'A'.repeat(43)

test('a takeover fences the session immediately, and the next session requires the grant', async () => {
  const agent = await fresh()
  const old = agent.session
  const issued = await bridge.owner.takeover(bridge.project.id, agent.id, { reason: 'stuck' })
  expect(issued).toMatchObject({ fenced_session_id: old?.id, generation: old?.generation })
  expect(codeOf(await agent.call({ target: '/api/v1/inbox' }))).toBe('session_fenced')
  const without = await agent.requestSession()
  expect([without.status, codeOf(without)]).toEqual(pending)
  expect((without.json as { details: object }).details).toEqual({ expires_at: issued.expires_at })
  const started = await agent.startSession(crypto.randomUUID(), { takeover_grant: issued.grant })
  expect(started).toMatchObject({
    generation: (old?.generation ?? 0) + 1,
    resumed: false,
    replaced_session_id: old?.id,
  })
  expect(storeFiles(bridge.data).includes(issued.grant)).toBe(false)
})

test('a wrong grant is refused with or without an open takeover, and does not use up the grant', async () => {
  const agent = await fresh()
  const before = await agent.requestSession(undefined, { takeover_grant: wrong })
  expect([before.status, codeOf(before)]).toEqual(invalid)
  expect((await agent.call({ target: '/api/v1/inbox' })).status).toBe(200)
  const { grant } = await bridge.owner.takeover(bridge.project.id, agent.id)
  const open = await agent.requestSession(undefined, { takeover_grant: wrong })
  expect([open.status, codeOf(open)]).toEqual(invalid)
  expect((await agent.requestSession(undefined, { takeover_grant: grant })).status).toBe(200)
})

test('after a lost answer the same instance gets its session back, and no other instance does', async () => {
  const agent = await fresh()
  const { grant } = await bridge.owner.takeover(bridge.project.id, agent.id)
  const started = await agent.startSession(undefined, { takeover_grant: grant })
  const again = await agent.requestSession(undefined, { takeover_grant: grant })
  expect(again.json).toEqual({ ...started, resumed: true })
  const other = await agent.requestSession(crypto.randomUUID(), { takeover_grant: grant })
  expect([other.status, codeOf(other)]).toEqual(invalid)
  expect((await agent.call({ target: '/api/v1/inbox' })).status).toBe(200)
  await agent.ok({ target: '/api/v1/sessions/current/close', body: {}, key: null })
  const closed = await agent.requestSession(undefined, { takeover_grant: grant })
  expect([closed.status, codeOf(closed)]).toEqual(invalid)
  expect((await agent.requestSession()).status).toBe(200)
})

test('an instance with a secret, which would otherwise be replaced, also gets its session back', async () => {
  const enrolled = await fresh()
  const { owner, project, url, clock } = bridge
  const { credential, secret } = await owner.issueLegacy(project.id, enrolled.id)
  const agent = legacyAgent(url, { ...enrolled.enrolled, credential_id: credential.id }, secret, clock)
  const { grant } = await owner.takeover(project.id, agent.id)
  const started = await agent.startSession(undefined, { takeover_grant: grant })
  const again = await agent.requestSession(undefined, { takeover_grant: grant })
  expect(again.json).toEqual({ ...started, resumed: true })
  const byKey = await enrolled.requestSession(agent.instanceId, { takeover_grant: grant })
  expect([byKey.status, codeOf(byKey)]).toEqual(invalid)
})

test('a device-bound instance gets its session back with a fresh challenge', async () => {
  const device = JSON.stringify({ os: 'linux', machine: 'ab'.repeat(32), install: crypto.randomUUID() })
  const { id } = await bridge.owner.createAgent(bridge.project.id, 'bound')
  const code = await bridge.owner.enrollmentCode(bridge.project.id, id, { binding: 'device' })
  const agent = await enroll(bridge.url, code, bridge.clock, device)
  const { grant } = await bridge.owner.takeover(bridge.project.id, id)
  const started = await agent.startSession(undefined, { takeover_grant: grant })
  expect(started.replaced_session_id).toBeNull()
  expect(await agent.startSession(undefined, { takeover_grant: grant })).toEqual({
    ...started,
    resumed: true,
  })
})

test('of twenty requests in flight none succeeds after the owner was answered', async () => {
  const agent = await fresh()
  const conversation = await agent.conversationWith(agent.id)
  const body = { conversation_id: conversation, recipient_agent_id: agent.id, type: 'note', body: 'work' }
  const before = Array.from({ length: 10 }, () => agent.call({ target: '/api/v1/messages', body }))
  const taking = bridge.owner.takeover(bridge.project.id, agent.id)
  const during = Array.from({ length: 10 }, () => agent.call({ target: '/api/v1/messages', body }))
  await taking
  const target = `/api/admin/projects/${bridge.project.id}/conversations/${conversation}/messages?after_sequence=0`
  const stored = async () => (await bridge.owner.ok<{ messages: unknown[] }>({ target })).messages.length
  const atAnswer = await stored()
  const later = await Promise.all(
    Array.from({ length: 20 }, () => agent.call({ target: '/api/v1/messages', body })),
  )
  expect(new Set(later.map(codeOf))).toEqual(new Set(['session_fenced']))
  const all = await Promise.all([...before, ...during])
  expect(all.filter(({ status }) => status === 200)).toHaveLength(atAnswer)
  expect(await stored()).toBe(atAnswer)
})

test('one of fifty simultaneous starts redeems the grant', async () => {
  const agent = await fresh()
  const { grant } = await bridge.owner.takeover(bridge.project.id, agent.id)
  const replies = await Promise.all(
    Array.from({ length: 50 }, () => agent.requestSession(crypto.randomUUID(), { takeover_grant: grant })),
  )
  expect(replies.filter(({ status }) => status === 200)).toHaveLength(1)
  expect(new Set(replies.filter(({ status }) => status !== 200).map(codeOf))).toEqual(
    new Set(['grant_invalid']),
  )
  const again = await agent.requestSession(undefined, { takeover_grant: grant })
  expect([again.status, codeOf(again)]).toEqual(invalid)
})

test('a grant is refused for another agent, whether or not that agent waits for its own grant', async () => {
  const [one, two] = [await fresh(), await fresh()]
  const { grant } = await bridge.owner.takeover(bridge.project.id, one.id)
  expect(codeOf(await two.requestSession(undefined, { takeover_grant: grant }))).toBe('grant_invalid')
  const own = await bridge.owner.takeover(bridge.project.id, two.id)
  expect(codeOf(await two.requestSession(undefined, { takeover_grant: grant }))).toBe('grant_invalid')
  expect((await two.requestSession(undefined, { takeover_grant: own.grant })).status).toBe(200)
  expect((await one.requestSession(undefined, { takeover_grant: grant })).status).toBe(200)
})

test('a newer grant invalidates an older one, and its session names the session that the first takeover fenced', async () => {
  const agent = await fresh()
  const old = agent.session
  const first = await bridge.owner.takeover(bridge.project.id, agent.id)
  const second = await bridge.owner.takeover(bridge.project.id, agent.id)
  expect(second.fenced_session_id).toBeNull()
  expect(codeOf(await agent.requestSession(undefined, { takeover_grant: first.grant }))).toBe('grant_invalid')
  const started = await agent.startSession(undefined, { takeover_grant: second.grant })
  expect(started.replaced_session_id).toBe(old?.id)
  await bridge.owner.takeover(bridge.project.id, agent.id)
  expect(codeOf(await agent.requestSession(undefined, { takeover_grant: second.grant }))).toBe(
    'grant_invalid',
  )
})

test('a takeover does not count as a replacement by another instance, however often it happens', async () => {
  const own = await startBridge()
  const { ada, owner, project, clock } = own
  for (let n = 0; n < 4; n += 1) {
    const { grant } = await owner.takeover(project.id, ada.id)
    await ada.startSession(crypto.randomUUID(), { takeover_grant: grant })
  }
  clock.advance(91)
  expect((await ada.requestSession(crypto.randomUUID())).status).toBe(200)
  await own.close()
})

test('a grant expires, and then every credential of the agent may start a session', async () => {
  const own = await startBridge()
  onTestFinished(own.clock.hold())
  const { grant, expires_at } = await own.owner.takeover(own.project.id, own.ada.id, { ttl_seconds: 60 })
  expect(Date.parse(expires_at) - own.clock().getTime()).toBeLessThanOrEqual(60_000)
  own.clock.advance(58)
  expect(codeOf(await own.ada.requestSession())).toBe('takeover_pending')
  own.clock.advance(3)
  expect(codeOf(await own.ada.requestSession(undefined, { takeover_grant: grant }))).toBe('grant_invalid')
  expect(await own.ada.startSession()).toMatchObject({ replaced_session_id: null })
  await own.close()
})

test('a grant lasts between sixty seconds and one hour', async () => {
  for (const ttl_seconds of [59, 3601]) {
    const target = `/api/admin/projects/${bridge.project.id}/agents/${bridge.ben.id}/takeover`
    const reply = await bridge.owner.call({ target, body: { ttl_seconds } })
    expect(codeOf(reply)).toBe('invalid_request')
  }
})

test('a grant stays valid once across a restart of the server', async () => {
  const own = await startBridge()
  const { grant } = await own.owner.takeover(own.project.id, own.ada.id)
  const again = await own.restart()
  expect(codeOf(await own.ada.requestSession())).toBe('takeover_pending')
  expect((await own.ada.requestSession(undefined, { takeover_grant: grant })).status).toBe(200)
  await again.close()
})
