/**
 * The connection state of an agent: what the node observed, and what the agent declared.
 *
 * Promise F14, spec §1, contract §6 "Presence".
 */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { enroll, legacyAgent, type TestAgent } from '../../support/agent.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { openSocket, transports } from '../../support/streams.ts'
import { connectionOf, listen, lookUp, until } from './listeners.ts'

let bridge: TestBridge

beforeAll(async () => {
  bridge = await startBridge()
})
afterAll(() => bridge.close())

const schedule = (agent: TestAgent, body: object) =>
  agent.call({ target: '/api/v1/connection-mode', body, key: null })
const unknown = { kind: 'unknown', expected_at: null, overdue: false }

test('an agent that never started is not connected, and its next contact is unknown', async () => {
  const { id } = await bridge.owner.createAgent(bridge.project.id, 'never')
  const target = `/api/admin/projects/${bridge.project.id}/agents/${id}`
  const { connection } = await bridge.owner.ok<{ connection: object }>({ target })
  expect(connection).toMatchObject({
    connected: false,
    listening_now: false,
    last_contact_at: null,
    next_contact: unknown,
  })
})

test('an agent counts as connected for sixty seconds after its last contact', async () => {
  const own = await startBridge()
  onTestFinished(own.clock.hold())
  await own.ada.inbox()
  const then = await connectionOf(own, own.ada)
  expect(then).toMatchObject({ connected: true, listening_now: false, next_contact: unknown })
  own.clock.advance(58)
  expect(await connectionOf(own, own.ada)).toMatchObject({
    connected: true,
    last_contact_at: then.last_contact_at,
  })
  own.clock.advance(2)
  expect(await connectionOf(own, own.ada)).toMatchObject({ connected: false })
  await own.close()
})

describe.each(transports)('over the %s', (_name, open) => {
  test('listening_now is true while the wait is open and for five more seconds', async () => {
    const own = await startBridge()
    const stream = await listen(own, own.ada, open)
    own.clock.advance(100)
    onTestFinished(own.clock.hold())
    expect(await connectionOf(own, own.ada)).toMatchObject({
      connected: true,
      listening_now: true,
      next_contact: { kind: 'listening', expected_at: null, overdue: false },
    })
    stream.close()
    await stream.ended
    // A peer reads the same state.
    const { peers } = await own.ben.ok<{ peers: { name: string; connection: { listening_now: boolean } }[] }>(
      {
        target: '/api/v1/peers',
      },
    )
    expect(peers.find(({ name }) => name === 'ada')?.connection.listening_now).toBe(true)
    // The server notices the close with some delay; five seconds later the agent is no longer listening.
    await until(
      async () => {
        own.clock.advance(5)
        return connectionOf(own, own.ada)
      },
      (words) => !words.listening_now,
    )
    await own.close()
  })

  test('an open wait overrides a declared schedule', async () => {
    const own = await startBridge()
    await schedule(own.ada, { mode: 'short_poll', interval_seconds: 60 })
    const stream = await listen(own, own.ada, open)
    own.clock.advance(1000)
    expect((await connectionOf(own, own.ada)).next_contact).toEqual({
      kind: 'listening',
      expected_at: null,
      overdue: false,
    })
    stream.close()
    await own.close()
  })
})

describe('a declared schedule', () => {
  test('gives the time of the next contact, and is overdue after 30 s or a tenth of the interval, whichever is longer', async () => {
    const own = await startBridge()
    onTestFinished(own.clock.hold())
    for (const [seconds, grace] of [
      [60, 30],
      [1000, 100],
    ] as const) {
      const reply = await schedule(own.ada, { mode: 'short_poll', interval_seconds: seconds })
      const { connection } = reply.json as { connection: { last_contact_at: string } }
      const expected_at = new Date(Date.parse(connection.last_contact_at) + seconds * 1000).toISOString()
      expect(connection).toMatchObject({ next_contact: { kind: 'scheduled', expected_at, overdue: false } })
      own.clock.advance(seconds + grace - 2)
      expect((await connectionOf(own, own.ada)).next_contact).toEqual({
        kind: 'scheduled',
        expected_at,
        overdue: false,
      })
      own.clock.advance(4)
      expect((await connectionOf(own, own.ada)).next_contact).toMatchObject({ overdue: true })
      await own.ada.inbox()
      expect((await connectionOf(own, own.ada)).next_contact).toMatchObject({ overdue: false })
    }
    await own.close()
  })

  test('of work steps has no time and is never overdue', async () => {
    const own = await startBridge()
    await schedule(own.ada, { mode: 'checkpoint' })
    own.clock.advance(3000)
    expect((await connectionOf(own, own.ada)).next_contact).toEqual({
      kind: 'after_current_work_step',
      expected_at: null,
      overdue: false,
    })
    await own.close()
  })

  test('ends with its session', async () => {
    const agent = await bridge.agent('scheduled')
    await schedule(agent, { mode: 'short_poll', interval_seconds: 60 })
    await agent.ok({ target: '/api/v1/sessions/current/close', body: {}, key: null })
    expect((await connectionOf(bridge, agent)).next_contact).toEqual(unknown)
    await agent.startSession()
    expect((await connectionOf(bridge, agent)).next_contact).toEqual(unknown)
  })

  test('is kept across a restart of the server, with the last contact', async () => {
    const own = await startBridge()
    await schedule(own.ada, { mode: 'short_poll', interval_seconds: 300 })
    const before = await connectionOf(own, own.ada)
    const again = await own.restart()
    expect((await connectionOf(again, own.ada)).next_contact).toEqual(before.next_contact)
    await again.close()
  })

  test.each([4, 86_401, 60.5, '60'])('of %j seconds is refused', async (interval_seconds) => {
    const reply = await schedule(bridge.ada, { mode: 'short_poll', interval_seconds })
    expect(reply.status).toBe(422)
  })

  test('makes another instance wait longer: twice the interval plus thirty seconds', async () => {
    const own = await startBridge()
    onTestFinished(own.clock.hold())
    await schedule(own.ada, { mode: 'short_poll', interval_seconds: 100 })
    own.clock.advance(228)
    expect((await own.ada.requestSession(crypto.randomUUID())).json).toMatchObject({
      error: 'session_active',
    })
    own.clock.advance(4)
    expect((await own.ada.requestSession(crypto.randomUUID())).status).toBe(200)
    await own.close()
  })

  test('of work steps makes another instance wait for an hour', async () => {
    const own = await startBridge()
    onTestFinished(own.clock.hold())
    await schedule(own.ada, { mode: 'checkpoint' })
    own.clock.advance(3598)
    expect((await own.ada.requestSession(crypto.randomUUID())).json).toMatchObject({
      error: 'session_active',
    })
    own.clock.advance(4)
    expect((await own.ada.requestSession(crypto.randomUUID())).status).toBe(200)
    await own.close()
  })
})

test('after a restart no agent is listening until it opens a wait again, but its session is still alive', async () => {
  const own = await startBridge()
  const stream = await listen(own, own.ada, openSocket)
  // The socket is open for half an hour without a signed request; its contact is stored nevertheless.
  own.clock.advance(1800)
  const since = own.clock().toISOString()
  await until(
    () => lookUp(own, 'SELECT last_contact_at FROM sessions WHERE agent_id = ?', own.ada.id),
    (at) => String(at) >= since,
  )
  const again = await own.restart()
  await stream.ended
  expect(await connectionOf(again, own.ada)).toMatchObject({ listening_now: false })
  expect((await own.ada.requestSession(crypto.randomUUID())).json).toMatchObject({ error: 'session_active' })
  expect((await own.ada.requestSession()).json).toMatchObject({ resumed: true })
  await again.close()
})

describe('presence ends with the permission', () => {
  const gone = { connected: false, listening_now: false, next_contact: unknown }

  const ends: readonly (readonly [string, (own: TestBridge) => Promise<unknown>])[] = [
    [
      'its credential is revoked',
      ({ owner, project, ada }) => owner.revoke(project.id, ada.enrolled.credential_id),
    ],
    ['the owner takes over', ({ owner, project, ada }) => owner.takeover(project.id, ada.id)],
    ['the agent is disabled', ({ owner, project, ada }) => owner.setAgent(project.id, ada.id, 'disabled')],
  ]

  test.each(ends.filter(([what]) => !what.includes('takes over')))(
    'immediately when %s after it closed its session, while that still counted as contact',
    async (_what, end) => {
      const own = await startBridge()
      onTestFinished(own.clock.hold())
      const { ada, owner, project } = own
      await ada.ok({ target: '/api/v1/sessions/current/close', body: {}, key: null })
      expect(await connectionOf(own, ada)).toMatchObject({ connected: true })
      await end(own)
      expect(await connectionOf(own, ada)).toMatchObject(gone)
      const { agents } = await owner.ok<{ agents: { id: string; connection: object }[] }>({
        target: `/api/admin/projects/${project.id}`,
      })
      expect(agents.find(({ id }) => id === ada.id)?.connection).toMatchObject(gone)
      await own.close()
    },
  )

  test.each(ends)(
    'immediately when %s, for every reader, and stays ended after a restart',
    async (_what, end) => {
      const own = await startBridge()
      const { ada, ben, owner, project } = own
      await ada.call({ target: '/api/v1/connection-mode', body: { mode: 'checkpoint' }, key: null })
      const conversation = await ben.conversationWith(ada.id)
      const socket = await listen(own, ada, openSocket)
      const { last_contact_at } = await connectionOf(own, ada)
      await end(own)
      const words = await connectionOf(own, ada)
      expect(words).toMatchObject(gone)
      expect(Date.parse(words.last_contact_at ?? '')).toBeGreaterThanOrEqual(
        Date.parse(last_contact_at ?? ''),
      )
      const listed = async (target: string) => {
        const { agents } = await owner.ok<{ agents: { id: string; connection: object }[] }>({ target })
        return agents.find(({ id }) => id === ada.id)?.connection
      }
      expect(await listed(`/api/admin/projects/${project.id}/agents`)).toMatchObject(gone)
      expect(await listed(`/api/admin/projects/${project.id}`)).toMatchObject(gone)
      const sent = await ben.call({
        target: '/api/v1/messages',
        body: { conversation_id: conversation, recipient_agent_id: ada.id, type: 'note', body: 'there?' },
      })
      if (sent.status === 200) {
        expect((sent.json as { recipient: object }).recipient).toMatchObject({ connection: gone })
        const { peers } = await ben.ok<{ peers: { id: string; connection: object }[] }>({
          target: '/api/v1/peers',
        })
        expect(peers.find(({ id }) => id === ada.id)?.connection).toMatchObject(gone)
      }
      await socket.ended
      expect(await connectionOf(own, ada)).toMatchObject(gone)
      const again = await own.restart()
      expect(await connectionOf(again, ada)).toMatchObject(gone)
      await again.close()
    },
  )

  test('at the moment when its credential expires', async () => {
    const own = await startBridge()
    const { owner, project, clock } = own
    const expires_at = new Date(clock().getTime() + 30_000).toISOString()
    const enrolled = await own.agent('brief')
    const { credential, secret } = await owner.issueLegacy(project.id, enrolled.id, { expires_at })
    const brief = legacyAgent(own.url, { ...enrolled.enrolled, credential_id: credential.id }, secret, clock)
    await brief.startSession()
    expect(await connectionOf(own, brief)).toMatchObject({ connected: true })
    clock.advance(30)
    expect(await connectionOf(own, brief)).toMatchObject(gone)
    await own.close()
  })

  test('and starts again with a new credential; the end of another credential has no effect', async () => {
    const own = await startBridge()
    const { owner, project, ada, clock } = own
    await owner.revoke(project.id, ada.enrolled.credential_id)
    const enrolAgain = async (fields: object = {}) =>
      enroll(own.url, await owner.enrollmentCode(project.id, ada.id, fields), clock)
    const second = await enrolAgain()
    expect(await connectionOf(own, ada)).toMatchObject(gone)
    await second.startSession()
    expect(await connectionOf(own, ada)).toMatchObject({ connected: true })
    const third = await enrolAgain({ keep_existing: true })
    await owner.revoke(project.id, third.enrolled.credential_id)
    expect(await connectionOf(own, ada)).toMatchObject({ connected: true })
    await own.close()
  })
})
