/**
 * Legacy credentials: a secret instead of a key, for clients that cannot sign.
 *
 * Threat T13; contract §3, §5.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { legacyAgent, type TestAgent } from '../../support/agent.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { messagesOf, openPolls, transports } from '../../support/streams.ts'
import { storeFiles } from '../../support/test-store.ts'

let bridge: TestBridge
let names = 0

beforeAll(async () => {
  bridge = await startBridge()
})
afterAll(() => bridge.close())

const codeOf = ({ json }: { json: unknown }) => (json as { error: string }).error
const bootstrap = { target: '/api/v1/bootstrap', session: null } as const

/** An agent whose only credential is a legacy one. */
async function legacy(fields: object = {}) {
  names += 1
  const { id } = await bridge.owner.createAgent(bridge.project.id, `legacy ${names}`)
  const issued = await bridge.owner.issueLegacy(bridge.project.id, id, fields)
  return { agent: holder(id, issued), issued, agentId: id }
}

const holder = (
  id: string,
  { credential, secret }: { credential: { id: string }; secret: string },
): TestAgent =>
  legacyAgent(
    bridge.url,
    {
      server_id: bridge.server.serverId,
      credential_id: credential.id,
      agent: { id, name: 'legacy' },
      project: bridge.project,
    },
    secret,
    bridge.clock,
  )

test('a legacy agent works with its secret alone, and the secret is shown once and stored nowhere', async () => {
  const { agent, issued } = await legacy()
  expect(issued.secret).toMatch(/^[A-Za-z0-9_-]{43}$/)
  await agent.startSession()
  const { id } = await agent.send(await agent.conversationWith(agent.id), agent.id, 'hello')
  expect(id).toBeDefined()
  const listed = await bridge.owner.call({
    target: `/api/admin/projects/${bridge.project.id}/credentials?limit=100`,
  })
  expect(listed.text).toContain(issued.credential.id)
  expect(listed.text).not.toContain(issued.secret)
  expect(storeFiles(bridge.data).includes(issued.secret)).toBe(false)
})

test.each(transports)('a legacy agent receives messages over the %s', async (_name, open) => {
  const { agent } = await legacy()
  await agent.startSession()
  const stream = open(agent)
  await bridge.owner.message(bridge.project.id, agent.id, 'welcome')
  expect(await stream.messages(1)).toMatchObject([{ body: 'welcome' }])
  stream.close()
})

describe('a session start with a secret', () => {
  test('replaces and fences the previous instance, even the same one', async () => {
    const { agent } = await legacy()
    const first = await agent.startSession()
    const second = await agent.startSession()
    expect(second).toMatchObject({
      generation: first.generation + 1,
      resumed: false,
      replaced_session_id: first.id,
    })
    const old = await agent.call({ target: '/api/v1/inbox', session: first.id })
    expect([old.status, codeOf(old)]).toEqual([409, 'session_fenced'])
  })

  test('replaces a live key-bound instance and ends its wait', async () => {
    const keyed = await bridge.agent('keyed')
    const stream = openPolls(keyed)
    await bridge.owner.message(bridge.project.id, keyed.id, 'still here')
    await stream.messages(1)
    const agent = holder(keyed.id, await bridge.owner.issueLegacy(bridge.project.id, keyed.id))
    await agent.startSession()
    expect(await stream.reason()).toBe('session_fenced')
    // The message was not acknowledged, so the new session is offered it again.
    expect((await agent.inbox()).messages.map(({ body }) => body)).toEqual(['still here'])
    expect(
      stream.events.flatMap((event) => (event.type === 'messages' ? messagesOf(event) : [])),
    ).toHaveLength(1)
  })

  test('is refused the fourth time in ten minutes', async () => {
    const { agent } = await legacy()
    for (let n = 0; n < 4; n += 1) await agent.startSession()
    const reply = await agent.requestSession()
    expect([reply.status, codeOf(reply)]).toEqual([429, 'rate_limited'])
    expect(Number(reply.headers['retry-after'])).toBeGreaterThan(0)
  })
})

describe('the secret', () => {
  const wrong: readonly [string, (secret: string) => string][] = [
    ['is wrong in its first character', (secret) => (secret[0] === 'A' ? 'B' : 'A') + secret.slice(1)],
    ['is wrong in its last character', (secret) => secret.slice(0, -1) + (secret.endsWith('A') ? 'E' : 'A')],
    ['is another', () => 'A'.repeat(43)],
  ]
  test.each(wrong)('that %s is refused like an unknown credential', async (_what, change) => {
    const { agent, issued } = await legacy()
    const authorization = `AgentKey ${issued.credential.id}.${change(issued.secret)}`
    const reply = await agent.call({ ...bootstrap, override: { Authorization: authorization } })
    const unknown = await agent.call({
      ...bootstrap,
      override: { Authorization: `AgentKey ${crypto.randomUUID()}.${issued.secret}` },
    })
    expect([reply.status, codeOf(reply)]).toEqual([401, 'credential_unknown'])
    expect((reply.json as { message: string }).message).toBe((unknown.json as { message: string }).message)
  })

  const malformed: readonly [string, (secret: string) => string][] = [
    ['too short', (secret) => secret.slice(1)],
    ['too long', (secret) => `${secret}A`],
    ['followed by another', (secret) => `${secret}.${secret}`],
    ['empty', () => ''],
  ]
  test.each(malformed)('that is %s is refused as malformed', async (_what, change) => {
    const { agent, issued } = await legacy()
    const authorization = `AgentKey ${issued.credential.id}.${change(issued.secret)}`
    const reply = await agent.call({ ...bootstrap, override: { Authorization: authorization } })
    expect([reply.status, codeOf(reply)]).toEqual([401, 'unauthenticated'])
  })

  test('is required, because a credential id alone proves nothing', async () => {
    const { agent, issued } = await legacy()
    const reply = await agent.call({
      ...bootstrap,
      override: { Authorization: `AgentKey ${issued.credential.id}` },
    })
    expect([reply.status, codeOf(reply)]).toEqual([401, 'credential_unknown'])
  })

  test("of another agent's credential is refused", async () => {
    const [one, two] = [await legacy(), await legacy()]
    const authorization = `AgentKey ${one.issued.credential.id}.${two.issued.secret}`
    const reply = await one.agent.call({ ...bootstrap, override: { Authorization: authorization } })
    expect(codeOf(reply)).toBe('credential_unknown')
  })

  test('is never accepted for a key-bound identity, with or without a valid proof', async () => {
    const authorization = `AgentKey ${bridge.ada.enrolled.credential_id}.${'A'.repeat(43)}`
    const signed = await bridge.ada.call({ ...bootstrap, override: { Authorization: authorization } })
    const bare = { 'X-Bridge-Time': null, 'X-Bridge-Nonce': null, 'X-Bridge-Proof': null }
    const alone = await bridge.ada.call({ ...bootstrap, override: { Authorization: authorization, ...bare } })
    for (const reply of [signed, alone]) {
      expect([reply.status, codeOf(reply)]).toEqual([401, 'signature_required'])
    }
  })
})

test('expires, and its open wait ends then', async () => {
  const own = await startBridge()
  const expires_at = new Date(own.clock().getTime() + 60_000).toISOString()
  const issued = await own.owner.issueLegacy(own.project.id, own.ada.id, { expires_at })
  const agent = legacyAgent(
    own.url,
    { ...own.ada.enrolled, credential_id: issued.credential.id },
    issued.secret,
    own.clock,
  )
  expect(issued.credential.expires_at).toBe(expires_at)
  await agent.startSession()
  const stream = openPolls(agent)
  await own.owner.message(own.project.id, agent.id, 'soon')
  await stream.messages(1)
  own.clock.advance(61)
  expect(await stream.reason()).toBe('credential_expired')
  expect(codeOf(await agent.call(bootstrap))).toBe('credential_expired')
  await own.close()
})

test('is not issued with an expiry in the past, and then replaces nothing', async () => {
  const { agent, issued, agentId } = await legacy()
  const now = bridge.clock().getTime()
  for (const expires_at of [new Date(now).toISOString(), '2020-01-01T00:00:00.000Z']) {
    const reply = await bridge.owner.call({
      target: `/api/admin/projects/${bridge.project.id}/agents/${agentId}/credentials`,
      body: { kind: 'legacy', expires_at, replaces: issued.credential.id },
    })
    expect([reply.status, codeOf(reply)]).toEqual([422, 'invalid_request'])
    expect(reply.json).toMatchObject({ details: { faults: [{ path: 'body/expires_at' }] } })
  }
  expect((await agent.call(bootstrap)).status).toBe(200)
})

test('replaces another credential of its agent immediately, and no other', async () => {
  const { agent, issued, agentId } = await legacy()
  await agent.startSession()
  const renewed = await bridge.owner.issueLegacy(bridge.project.id, agentId, {
    replaces: issued.credential.id,
  })
  expect(codeOf(await agent.call({ target: '/api/v1/inbox' }))).toBe('credential_revoked')
  const next = holder(agentId, renewed)
  await next.startSession()
  const stranger = await legacy()
  const reply = await bridge.owner.call({
    target: `/api/admin/projects/${bridge.project.id}/agents/${agentId}/credentials`,
    body: { kind: 'legacy', replaces: stranger.issued.credential.id },
  })
  expect([reply.status, codeOf(reply)]).toEqual([404, 'not_found'])
  expect((await stranger.agent.call(bootstrap)).status).toBe(200)
})

test('is replaced by an enrolment like any other credential', async () => {
  const { agent, agentId } = await legacy()
  const { enroll } = await import('../../support/agent.ts')
  await enroll(bridge.url, await bridge.owner.enrollmentCode(bridge.project.id, agentId), bridge.clock)
  expect(codeOf(await agent.call(bootstrap))).toBe('credential_revoked')
})
