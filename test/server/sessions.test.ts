/** Sessions: one live instance of an agent at a time, fenced by generation. Contract §5. */
import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { endpoints } from '../../sdk/contract/index.ts'
import { enroll, type TestAgent } from '../support/agent.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { sha256 } from '../support/files.ts'
import type { Reply } from '../support/http.ts'
import { openWait, untilListening } from '../support/waits.ts'

let bridge: TestBridge

beforeAll(async () => {
  bridge = await startBridge()
})
afterAll(() => bridge.close())

interface Session {
  readonly id: string
  readonly generation: number
  readonly resumed: boolean
  readonly replaced_session_id: string | null
}

function start(agent: TestAgent, instanceId: string = agent.instanceId, client = 'test'): Promise<Reply> {
  const body = { instance_id: instanceId, client: { name: client, version: '1' } }
  return agent.call({ target: '/api/v1/sessions', body, session: null, key: null })
}

async function started(agent: TestAgent, instanceId?: string): Promise<Session> {
  const reply = await start(agent, instanceId)
  expect(reply.text).toContain('generation')
  return reply.json as Session
}

const errorOf = (reply: Reply) => (reply.json as { error?: string }).error

/** Sends a request that requires a session; returns its code or 'ok'. */
const isIn = async (agent: TestAgent, session: string) =>
  errorOf(await agent.call({ target: '/api/v1/peers', session })) ?? 'ok'

const close = (agent: TestAgent, session = agent.session?.id) =>
  agent.call({ target: '/api/v1/sessions/current/close', body: {}, key: null, ...(session && { session }) })

describe('starting and resuming', () => {
  test('the first session has generation 1, and the same instance gets it again', async () => {
    const cy = await bridge.agent('cy')
    const again = await started(cy)
    expect(again).toMatchObject({
      id: cy.session?.id,
      agent_id: cy.id,
      project_id: bridge.project.id,
      generation: 1,
      resumed: true,
      replaced_session_id: null,
      policy: { idle_seconds: null, empty_polls: null },
    })
  })

  test('a closed session has ended, and the next one has the next generation', async () => {
    const dot = await bridge.agent('dot')
    const first = dot.session?.id ?? ''
    expect(await isIn(dot, first)).toBe('ok')
    expect((await close(dot)).json).toMatchObject({ id: first })
    expect(await isIn(dot, first)).toBe('session_closed')
    expect(errorOf(await close(dot))).toBe('session_closed')

    const next = await started(dot)
    expect(next).toMatchObject({ generation: 2, resumed: false, replaced_session_id: null })
    expect(next.id).not.toBe(first)
    expect(await isIn(dot, first)).toBe('session_closed')
  })

  test('twenty simultaneous starts of one instance make one session', async () => {
    const eve = await bridge.agent('eve')
    await close(eve)
    const all = await Promise.all(Array.from({ length: 20 }, () => started(eve)))
    expect(new Set(all.map(({ id, generation }) => `${id} ${generation}`)).size).toBe(1)
    expect(all.filter(({ resumed }) => !resumed)).toHaveLength(1)
  })

  test('of twenty instances that start simultaneously one gets the session, and the others get its client in the refusal', async () => {
    const fay = await bridge.agent('fay')
    await close(fay)
    const replies = await Promise.all(Array.from({ length: 20 }, () => start(fay, randomUUID(), 'racer')))
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1)
    const refused = replies.filter(({ status }) => status !== 200)
    expect(new Set(refused.map(errorOf))).toEqual(new Set(['session_active']))
    expect(refused[0]?.json).toMatchObject({ details: { client_name: 'racer' } })
  })

  test('another credential of the same agent is another client and cannot use its session id', async () => {
    const { ada, ben } = bridge
    expect(await isIn(ada, ben.session?.id ?? '')).toBe('session_unknown')
    expect(await isIn(ada, randomUUID())).toBe('session_unknown')
    expect(await isIn(ada, ada.session?.id ?? '')).toBe('ok')
  })

  test.each(['not-a-uuid', '5A3F0C1D-9E2B-4A76-8C4D-7B6E5F4A3C2D', ''])(
    'an instance id "%s" is refused and starts nothing',
    async (instanceId) => {
      const before = await started(bridge.ada)
      const reply = await start(bridge.ada, instanceId)
      expect([reply.status, errorOf(reply)]).toEqual([422, 'invalid_request'])
      expect(await started(bridge.ada)).toMatchObject({ generation: before.generation })
    },
  )
})

describe('replacing the active session is possible for', () => {
  test('no instance while it is in contact, and the refusal gives its last contact and its client', async () => {
    const gil = await bridge.agent('gil')
    const before = bridge.clock().getTime()
    const reply = await start(gil, randomUUID())
    expect([reply.status, errorOf(reply)]).toEqual([409, 'session_active'])
    const { details } = reply.json as { details: { last_contact_at: string; client_name: string } }
    expect(details.client_name).toBe('test')
    expect(Date.parse(details.last_contact_at)).toBeLessThanOrEqual(before + 1000)
    expect(await isIn(gil, gil.session?.id ?? '')).toBe('ok')
  })

  test('another instance after 90 seconds without contact; a refused start is no contact', async () => {
    const hal = await bridge.agent('hal')
    const first = hal.session?.id ?? ''
    const other = randomUUID()
    bridge.clock.advance(80)
    expect(errorOf(await start(hal, other))).toBe('session_active')
    bridge.clock.advance(10)
    const second = await started(hal, other)
    expect(second).toMatchObject({ generation: 2, resumed: false, replaced_session_id: first })
    expect(await isIn(hal, first)).toBe('session_fenced')
    expect(await isIn(hal, second.id)).toBe('ok')
    expect(errorOf(await start(hal))).toBe('session_active')
  })

  test('no instance while the active one sends requests now and then', async () => {
    const ida = await bridge.agent('ida')
    for (let calls = 0; calls < 4; calls++) {
      bridge.clock.advance(60)
      expect(await isIn(ida, ida.session?.id ?? '')).toBe('ok')
      expect(errorOf(await start(ida, randomUUID()))).toBe('session_active')
    }
  })

  test('no instance while it has an open wait, however old its last request is', async () => {
    const own = await startBridge()
    onTestFinished(() => own.close())
    const jo = await own.agent('jo')
    const wait = openWait(jo)
    await untilListening(own, jo)
    own.clock.advance(200)
    expect(errorOf(await start(jo, randomUUID()))).toBe('session_active')
    await wait.leave()
    // The node renews the contact of a session with an open wait, perhaps just before it notices that this one ended.
    const afterNinetySeconds = async () => {
      own.clock.advance(90)
      return (await start(jo, randomUUID())).status
    }
    await expect.poll(afterNinetySeconds).toBe(200)
    expect(await isIn(jo, jo.session?.id ?? '')).toBe('session_fenced')
  })
})

describe('two instances of one agent', () => {
  let own: TestBridge
  beforeEach(async () => {
    own = await startBridge()
  })
  afterEach(() => own.close())

  test('never displace each other in turns: the active one stays until it had no contact for 90 seconds', async () => {
    const { ada, clock } = own
    const other = randomUUID()
    for (let turn = 0; turn < 10; turn++) {
      clock.advance(30)
      expect(errorOf(await start(ada, other, 'other'))).toBe('session_active')
      expect(await started(ada)).toMatchObject({ generation: 1, resumed: true })
    }
    clock.advance(90)
    expect(await started(ada, other)).toMatchObject({ generation: 2 })
    for (let turn = 0; turn < 10; turn++) {
      clock.advance(30)
      expect(errorOf(await start(ada))).toBe('session_active')
      expect(await started(ada, other)).toMatchObject({ generation: 2, resumed: true })
    }
  })

  test('are refused the fourth replacement in ten minutes, which then displaces nothing', async () => {
    const { ada, clock } = own
    let last = ''
    for (let replacements = 1; replacements <= 3; replacements++) {
      clock.advance(91)
      const next = await started(ada, randomUUID())
      expect(next).toMatchObject({ generation: replacements + 1, resumed: false })
      last = next.id
    }
    clock.advance(91)
    const refused = await start(ada, randomUUID())
    expect([refused.status, errorOf(refused)]).toEqual([429, 'rate_limited'])
    const { retry_after_ms } = refused.json as { retry_after_ms: number }
    expect(Number(refused.headers['retry-after'])).toBe(Math.ceil(retry_after_ms / 1000))
    // The first of the three was 273 seconds ago.
    expect(retry_after_ms).toBeLessThanOrEqual(327_000)
    expect(retry_after_ms).toBeGreaterThan(297_000)
    // Repeated attempts are reported to the owner only once.
    expect((await start(ada, randomUUID())).status).toBe(429)
    const { audit } = await own.owner.ok<{ audit: object[] }>({
      target: `/api/admin/projects/${ada.enrolled.project.id}/audit?kind=session.replacement_refused`,
    })
    expect(audit).toMatchObject([{ actor: { id: ada.id }, subject: { type: 'agent', id: ada.id } }])
    expect(await isIn(ada, last)).toBe('ok')

    clock.advance(retry_after_ms / 1000 - 30)
    expect((await start(ada, randomUUID())).status).toBe(429)
    clock.advance(30)
    expect(await started(ada, randomUUID())).toMatchObject({ generation: 5, replaced_session_id: last })
  })

  test('a session is kept across a restart of the server, and counts as alive', async () => {
    const { ada } = own
    const restarted = await own.restart()
    expect(await isIn(ada, ada.session?.id ?? '')).toBe('ok')
    const again = await restarted.restart()
    expect(errorOf(await start(ada, randomUUID()))).toBe('session_active')
    expect(await started(ada)).toMatchObject({ id: ada.session?.id, generation: 1, resumed: true })
    again.clock.advance(90)
    expect(await started(ada, randomUUID())).toMatchObject({ generation: 2 })
    const last = await again.restart()
    expect(await isIn(ada, ada.session?.id ?? '')).toBe('session_fenced')
    await last.server.stop()
  })

  test('the generation continues after every end: closed, enrolled again, disabled, restarted', async () => {
    const { ada, owner, project } = own
    const generations = [1]
    const next = async () => generations.push((await started(ada)).generation)
    await close(ada)
    await next()
    const states = `/api/admin/projects/${project.id}/agents/${ada.id}/state`
    await owner.ok({ target: states, body: { state: 'disabled' } })
    expect(errorOf(await start(ada))).toBe('agent_disabled')
    await owner.ok({ target: states, body: { state: 'enabled' } })
    await next()
    const restarted = await (await own.restart()).restart()
    const enrolled = await enroll(own.url, await owner.enrollmentCode(project.id, ada.id), own.clock)
    expect(errorOf(await start(ada))).toBe('credential_revoked')
    generations.push((await started(enrolled)).generation)
    expect(generations).toEqual([1, 2, 3, 4])
    await restarted.server.stop()
  })
})

describe('a session that has ended', () => {
  const withSession = endpoints.filter(({ caller }) => caller === 'agent')
  // If an endpoint accepts bytes, the sender states the hash that it signed.
  const extra = [['X-Content-SHA256', sha256(Buffer.from('{}'))]] as const
  const call = (agent: TestAgent, session: string, { method, path }: (typeof withSession)[number]) =>
    agent.call({
      method,
      target: path.replace(/\{[a-z_]+\}/g, randomUUID()),
      session,
      ...(method !== 'GET' && { body: {} }),
      ...(method === 'PUT' && { extra }),
    })
  let fenced: string
  let closed: string
  let kim: TestAgent
  beforeAll(async () => {
    kim = await bridge.agent('kim')
    fenced = kim.session?.id ?? ''
    bridge.clock.advance(90)
    closed = (await started(kim, randomUUID())).id
    await close(kim, closed)
    await started(kim)
  })

  test.each(withSession)('is refused as ended at $method $path, whatever the other faults', async (entry) => {
    expect(errorOf(await call(kim, fenced, entry))).toBe('session_fenced')
    expect(errorOf(await call(kim, closed, entry))).toBe('session_closed')
    expect(errorOf(await call(kim, randomUUID(), entry))).toBe('session_unknown')
  })

  test('cannot affect the active session', async () => {
    const { id } = await started(kim)
    expect(await isIn(kim, id)).toBe('ok')
  })
})
