/** Listening and the session: a deliberate end, repairs, and the owner's policy. */
import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import {
  type Bridge,
  type BridgeOptions,
  memorySessions,
  type ReceivedPage,
  type SessionStore,
} from '../../../sdk/program.ts'
import type { TestAgent } from '../../support/agent.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { bridgeOf, Ear, movableMs, sessionsOf } from '../../support/sdk-listener.ts'

let bridge: TestBridge
const undo: (() => Promise<unknown>)[] = []
beforeAll(async () => {
  bridge = await startBridge()
})
afterAll(() => bridge.close())
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each()
})

let named = 0
const someone = (): Promise<TestAgent> => bridge.agent(`agent-${++named}`)
const tell = (agent: TestAgent, text: string) => bridge.owner.message(bridge.project.id, agent.id, text)

function open(agent: TestAgent, options: Partial<BridgeOptions> = {}): Bridge {
  const client = bridgeOf(agent, options)
  undo.push(() => client.close())
  return client
}

/** Resolves when a process of the profile stores a session from now on. */
function nextStart(sessions: SessionStore): Promise<string> {
  const started = Promise.withResolvers<string>()
  const { save } = sessions
  sessions.save = (session) => {
    if (session.session_id !== null) started.resolve('a session was started')
    return save(session)
  }
  return started.promise
}

// Between two long-polls there is no connection that could end: the next one starts a session, like any request.
test.each(['socket', 'sse'] as const)(
  'over %s it ends when it closes the session between two messages that it has acknowledged together',
  async (transport) => {
    const agent = await someone()
    const sessions = sessionsOf(agent)
    const client = open(agent, { sessions })
    await tell(agent, 'one')
    await tell(agent, 'two')
    const { messages } = await client.inbox.list()
    const started = nextStart(sessions)
    const listening = (async () => {
      for await (const { body } of client.listen({ transports: [transport], limit: 1 })) {
        expect(body).toBe('one')
        await client.acknowledgements.create(messages.map(({ id }) => id))
        await client.sessions.close()
      }
    })().catch((error: unknown) => error)
    expect(await Promise.race([listening, started])).toMatchObject({ code: 'session_closed', status: 409 })
    expect(sessions.stored.session_id).toBeNull()
  },
)

describe.each(['socket', 'sse', 'long-poll'] as const)('over %s', (transport) => {
  test('ends when another process of the profile closes the session on purpose', async () => {
    const agent = await someone()
    const sessions = sessionsOf(agent)
    const ear = new Ear(open(agent, { sessions, transports: [transport] }))
    await tell(agent, 'before')
    await ear.heard('before')
    await open(agent, { sessions }).sessions.close()
    expect(await ear.ended).toMatchObject({ code: 'session_closed', status: 409 })
    expect(sessions.stored.session_id).toBeNull()
  })

  test('ends when its own process closes the session on purpose', async () => {
    const agent = await someone()
    const sessions = sessionsOf(agent)
    const client = open(agent, { sessions })
    const ear = new Ear(client, { transports: [transport] })
    undo.push(() => ear.stop())
    await tell(agent, 'before')
    await ear.heard('before')
    const started = nextStart(sessions)
    await client.sessions.close()
    expect(await Promise.race([ear.ended, started])).toMatchObject({ code: 'session_closed', status: 409 })
    expect(sessions.stored.session_id).toBeNull()
  })

  test('ends with a question beside it when another process closes the session on purpose', async () => {
    const agent = await someone()
    const sessions = sessionsOf(agent)
    const polled = Promise.withResolvers<void>()
    const noticing: BridgeOptions['fetch'] = (url, init) => {
      if (String(url).includes('/api/v1/inbox/messages')) polled.resolve()
      return fetch(url, init)
    }
    const client = open(agent, { sessions, fetch: noticing })
    const ear = new Ear(client, { transports: [transport] })
    undo.push(() => ear.stop())
    await tell(agent, 'before')
    await ear.heard('before')
    // Else the question's first poll ends at once with this message.
    await ear.messages[0]?.acknowledge()
    const answer = client.ask('owner', 'still there?').catch((error: unknown) => error)
    await polled.promise
    const started = nextStart(sessions)
    await open(agent, { sessions }).sessions.close()
    expect(await answer).toMatchObject({ code: 'session_closed' })
    expect(await Promise.race([ear.ended, started])).toMatchObject({ code: 'session_closed' })
    expect(sessions.stored.session_id).toBeNull()
  })

  test('replaces a session that the node closed once, and receives every unacknowledged message again', async () => {
    const agent = await someone()
    const sessions = sessionsOf(agent)
    const ear = new Ear(open(agent, { sessions, transports: [transport] }))
    undo.push(() => ear.stop())
    await tell(agent, 'before')
    await ear.heard('before')
    await agent.ok({ target: '/api/v1/sessions/current/close', body: {}, key: null })
    await ear.until('the second offer', () => ear.messages.some(({ delivery }) => delivery.attempt === 2))
    expect(sessions.stored).toMatchObject({ generation: 2 })
    expect(ear.bodies).toEqual(['before', 'before'])
  })

  test('starts a session if there is none', async () => {
    const agent = await someone()
    await agent.ok({ target: '/api/v1/sessions/current/close', body: {}, key: null })
    const ear = new Ear(open(agent, { sessions: memorySessions(randomUUID()), transports: [transport] }))
    undo.push(() => ear.stop())
    await tell(agent, 'hello')
    await ear.heard('hello')
  })

  test('ends with session_active, without starting a session, while another instance has it', async () => {
    const agent = await someone()
    const ear = new Ear(open(agent, { sessions: memorySessions(randomUUID()), transports: [transport] }))
    expect(await ear.ended).toMatchObject({ code: 'session_active' })
  })
})

describe.each(['socket', 'sse'] as const)('pages over %s', (transport) => {
  test('an empty page marks twenty seconds without messages, and the policy counts it', async () => {
    const agent = await someone()
    const monotonicMs = movableMs()
    const clock = () => new Date(performance.timeOrigin + monotonicMs())
    const sessions = sessionsOf(agent)
    sessions.stored = { ...sessions.stored, policy: { idle_seconds: null, empty_polls: 1 } }
    const client = open(agent, { sessions, monotonicMs, clock, transports: [transport] })
    const pages: ReceivedPage[] = []
    const onTransport = () => monotonicMs.advance(20_000)
    for await (const page of client.pages({ onTransport })) pages.push(page)
    expect(pages).toEqual([{ messages: [], has_more: false, waiting: null }])
  })

  test('a page has at most the requested number of messages', async () => {
    const agent = await someone()
    for (let nth = 1; nth <= 7; nth += 1) await tell(agent, `message ${nth}`)
    const sizes: [number, boolean][] = []
    for await (const { messages, has_more } of open(agent, { transports: [transport] }).pages({ limit: 3 })) {
      sizes.push([messages.length, has_more])
      if (messages.at(-1)?.body === 'message 7') break
    }
    expect(sizes).toEqual([
      [3, true],
      [3, true],
      [1, false],
    ])
  })

  test('listening ends at its time limit', async () => {
    const agent = await someone()
    await tell(agent, 'one')
    const monotonicMs = movableMs()
    const clock = () => new Date(performance.timeOrigin + monotonicMs())
    const client = open(agent, { monotonicMs, clock, transports: [transport] })
    const until = new Date(clock().getTime() + 60_000)
    const pages: ReceivedPage[] = []
    for await (const page of client.pages({ until })) {
      pages.push(page)
      if (page.messages.length > 0) monotonicMs.advance(60_000)
    }
    expect(pages.flatMap(({ messages }) => messages.map(({ body }) => body))).toEqual(['one'])
    expect(clock().getTime()).toBeGreaterThanOrEqual(until.getTime())
  })
})

test('a message that was acknowledged together with an earlier one is not delivered', async () => {
  const agent = await someone()
  for (const text of ['one', 'two', 'three']) await tell(agent, text)
  const client = open(agent)
  const heard: string[] = []
  for await (const message of client.listen()) {
    heard.push(message.body)
    if (message.body === 'three') break
    const { messages } = await client.conversations.history(message.conversation_id)
    await client.acknowledgements.create(messages.slice(0, 2).map(({ id }) => id))
  }
  expect(heard).toEqual(['one', 'three'])
})
