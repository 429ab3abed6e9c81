/**
 * Limits: the loop guard of a conversation, rates, a full inbox.
 *
 * Contract §2 "Rate", §6, §7 "Loop guard".
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { limits } from '../../../sdk/contract/limits.ts'
import type { TestAgent } from '../../support/agent.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { isOnPostgres } from '../../support/postgres.ts'
import { authenticate, openSocket } from '../../support/streams.ts'
import { tamper } from '../../support/tamper.ts'
import { fillInbox } from '../endpoints/full-inbox.ts'
import { lookUp } from './listeners.ts'

let bridge: TestBridge
let names = 0

/**
 * On PostgreSQL each group takes many ids. If the clock stands still, they run into the next milliseconds, and so
 * do the times of messages.
 */
const aheadMs = isOnPostgres ? 100 : 0

beforeAll(async () => {
  bridge = await startBridge()
})
afterAll(() => bridge.close())

async function pair(policy: object = {}, of: TestBridge = bridge) {
  names += 1
  const project = await of.owner.createProject(`project ${names}`, { policy })
  const ada = await of.agent('ada', project.id)
  const ben = await of.agent('ben', project.id)
  return { project, ada, ben, conversation: await ada.conversationWith(ben.id) }
}

function say(from: TestAgent, conversation: string, to: string, fields: object = {}) {
  const body = { conversation_id: conversation, recipient_agent_id: to, type: 'note', body: 'again' }
  return from.call({ target: '/api/v1/messages', body: { ...body, ...fields } })
}

const tripped = (guard: string) => ({ error: 'conversation_budget', details: { guard } })

describe('the budget of a conversation', () => {
  test('is sixty messages per sender in a sliding window of ten minutes', async () => {
    const own = await startBridge()
    const { ada, ben } = own
    const conversation = await ada.conversationWith(ben.id)
    for (let n = 0; n < 60; n += 1) expect((await say(ada, conversation, ben.id)).status).toBe(200)
    const refused = await say(ada, conversation, ben.id)
    expect(refused.status).toBe(429)
    expect(refused.json).toMatchObject(tripped('messages'))
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
    // The other sender, other conversations and the owner's messages are not affected.
    expect((await say(ben, conversation, ada.id)).status).toBe(200)
    const carl = await own.agent('carl')
    expect((await say(ada, await ada.conversationWith(carl.id), carl.id)).status).toBe(200)
    expect((await say(ada, await ada.conversationWith(ada.id), ada.id)).status).toBe(200)
    own.clock.advance(500)
    expect((await say(ada, conversation, ben.id)).status).toBe(429)
    own.clock.advance(100)
    expect((await say(ada, conversation, ben.id)).status).toBe(200)
    await own.close()
  })

  test('tells when the window ends, and then lets the next message through', async () => {
    const own = await startBridge()
    // The time that a request takes would stand between the two messages.
    own.clock.hold()
    const { ada, ben, conversation } = await pair({ message_budget: 2 }, own)
    await ada.send(conversation, ben.id, 'one')
    own.clock.advance(100)
    await ada.send(conversation, ben.id, 'two')
    await ben.send(conversation, ada.id, 'between')
    own.clock.advance(100)
    const { status, json, headers } = await say(ada, conversation, ben.id)
    const { retry_after_ms: wait } = json as { retry_after_ms: number }
    expect([status, headers['retry-after']]).toEqual([429, String(Math.ceil(wait / 1000))])
    expect(wait).toBeLessThanOrEqual(400_000 + aheadMs)
    expect(wait).toBeGreaterThan(370_000)
    own.clock.advance(wait / 1000 - 30)
    expect((await say(ada, conversation, ben.id)).status).toBe(429)
    own.clock.advance(30)
    expect((await say(ada, conversation, ben.id)).status).toBe(200)
    // The second message is now the one whose age delays the sender.
    const later = (await say(ada, conversation, ben.id)).json as { retry_after_ms: number }
    expect(later.retry_after_ms).toBeLessThanOrEqual(100_000 + aheadMs)
    expect(later.retry_after_ms).toBeGreaterThan(70_000)
    await own.close()
  })

  test('once reduced, is available again when enough messages have left the window', async () => {
    const own = await startBridge()
    const { project, ada, ben, conversation } = await pair({ message_budget: 3 }, own)
    for (const text of ['one', 'two', 'three']) {
      await ada.send(conversation, ben.id, text)
      own.clock.advance(100)
    }
    tamper(own.data, (database) =>
      database.prepare('UPDATE projects SET message_budget = 1 WHERE id = ?').run(project.id),
    )
    const { retry_after_ms: wait } = (await say(ada, conversation, ben.id)).json as { retry_after_ms: number }
    expect(wait).toBeLessThanOrEqual(500_000 + aheadMs)
    expect(wait).toBeGreaterThan(470_000)
    own.clock.advance(wait / 1000)
    expect((await say(ada, conversation, ben.id)).status).toBe(200)
    await own.close()
  })

  test('writes one audit record per sender and window, however often the loop is refused', async () => {
    const own = await startBridge()
    const { ada, ben, conversation } = await pair({ message_budget: 1 }, own)
    const trippedBy = (agent: TestAgent) =>
      lookUp(
        own,
        "SELECT count(*) FROM audit WHERE kind = 'conversation.guard_tripped' AND subject_id = ? AND actor_id = ?",
        conversation,
        agent.id,
      )
    await ada.send(conversation, ben.id, 'one')
    for (let n = 0; n < 3; n += 1) expect((await say(ada, conversation, ben.id)).status).toBe(429)
    expect([trippedBy(ada), trippedBy(ben)]).toEqual([1, 0])
    await ben.send(conversation, ada.id, 'one')
    for (let n = 0; n < 3; n += 1) expect((await say(ben, conversation, ada.id)).status).toBe(429)
    expect([trippedBy(ada), trippedBy(ben)]).toEqual([1, 1])
    // Another window gets another record.
    own.clock.advance(601)
    await ada.send(conversation, ben.id, 'two')
    for (let n = 0; n < 2; n += 1) expect((await say(ada, conversation, ben.id)).status).toBe(429)
    expect([trippedBy(ada), trippedBy(ben)]).toEqual([2, 1])
    await own.close()
  })

  test("is the project's own if it has one, and a repeated key does not count", async () => {
    const { ada, ben, conversation } = await pair({ message_budget: 2 })
    const key = crypto.randomUUID()
    const first = await ada.send(conversation, ben.id, 'one', key)
    expect(await ada.send(conversation, ben.id, 'one', key)).toEqual(first)
    await ada.send(conversation, ben.id, 'two')
    expect((await say(ada, conversation, ben.id)).json).toMatchObject(tripped('messages'))
    expect((await ada.send(conversation, ben.id, 'one', key)).id).toBe(first.id)
  })

  test('of fifty simultaneous sends admits no more than its limit', async () => {
    const { ada, ben, conversation } = await pair({ message_budget: 5 })
    const replies = await Promise.all(Array.from({ length: 50 }, () => say(ada, conversation, ben.id)))
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(5)
    expect(replies.filter(({ status }) => status === 429)).toHaveLength(45)
  })

  test('is reset when the owner writes in that conversation, and only there', async () => {
    const { project, ada, ben, conversation } = await pair({ message_budget: 1 })
    await ada.send(conversation, ben.id, 'one')
    await bridge.owner.message(project.id, ada.id, 'in its own conversation')
    expect((await say(ada, conversation, ben.id)).status).toBe(429)
    await bridge.owner.ok({
      target: `/api/admin/projects/${project.id}/messages`,
      body: { recipient_agent_id: ada.id, conversation_id: conversation, body: 'go on' },
      key: crypto.randomUUID(),
    })
    expect((await say(ada, conversation, ben.id)).status).toBe(200)
    expect((await say(ada, conversation, ben.id)).status).toBe(429)
  })
})

test.each([
  ['on', 1],
  ['back', -1],
])(
  'a message of the owner resets the budget once and clears the tripped guard if the clock is set %s',
  async (_, sign) => {
    const { project, ada, ben, conversation } = await pair({ message_budget: 1 })
    const write = () =>
      bridge.owner.ok({
        target: `/api/admin/projects/${project.id}/messages`,
        body: { recipient_agent_id: ada.id, conversation_id: conversation, body: 'go on' },
        key: crypto.randomUUID(),
      })
    const attention = async () => {
      const target = `/api/admin/projects/${project.id}`
      return (await bridge.owner.ok<{ attention: { kind: string }[] }>({ target })).attention
    }
    const statuses = async () => [
      (await say(ada, conversation, ben.id)).status,
      (await say(ada, conversation, ben.id)).status,
    ]
    expect(await statuses()).toEqual([200, 429])
    expect(await attention()).toMatchObject([{ kind: 'guard_tripped' }])
    bridge.clock.step(sign * 3600)
    await write()
    expect(await attention()).toEqual([])
    bridge.clock.step(sign * 3600)
    expect(await statuses()).toEqual([200, 429])
    // There is one record per window, and the owner's message started a new window.
    expect(await attention()).toMatchObject([{ kind: 'guard_tripped', count: 1 }])
    bridge.clock.step(sign * -7200)
  },
)

test('a thread is blocked after fifty hops, and the owner unblocks it by answering in it', async () => {
  const { project, ada, ben, conversation } = await pair()
  const root = await ada.send(conversation, ben.id, 'root')
  let last = root
  const reply = (to: string, n: number) => {
    const [from, other] = n % 2 === 1 ? [ben, ada] : [ada, ben]
    return say(from, conversation, other.id, { in_reply_to: to })
  }
  for (let n = 1; n <= 50; n += 1) {
    const answered = await reply(last.id, n)
    expect(answered.status).toBe(200)
    last = (answered.json as { message: { id: string; sequence: number; hops: number } }).message
  }
  expect(last).toMatchObject({ hops: 50, root_id: root.id })
  const refused = await reply(last.id, 51)
  expect([refused.status, refused.json]).toMatchObject([429, tripped('hops')])
  // Time does not lift this block, so the delay is a whole window, in which the owner may write.
  expect([refused.headers['retry-after'], refused.json]).toMatchObject(['600', { retry_after_ms: 600_000 }])
  const word = await bridge.owner.ok<{ id: string; root_id: string }>({
    target: `/api/admin/projects/${project.id}/messages`,
    body: {
      recipient_agent_id: ben.id,
      conversation_id: conversation,
      body: 'settle it',
      in_reply_to: last.id,
    },
    key: crypto.randomUUID(),
  })
  expect(word.root_id).toBe(root.id)
  expect((await reply(word.id, 51)).status).toBe(200)
})

describe('rates', () => {
  test('a burst of a hundred requests is accepted, then 429 gives the delay; other agents are not affected', async () => {
    expect([limits.ratePerSecond, limits.rateBurst]).toEqual([50, 100])
    const own = await startBridge({ settings: { rate_per_second: '1', rate_burst: '100' } })
    const replies = await Promise.all(
      Array.from({ length: 160 }, () => own.ada.call({ target: '/api/v1/bootstrap', session: null })),
    )
    const refused = replies.filter(({ status }) => status === 429)
    expect(refused.length).toBeGreaterThan(0)
    expect(replies.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(95)
    for (const { json, headers } of refused) {
      expect(json).toMatchObject({ error: 'rate_limited', retry_after_ms: expect.any(Number) })
      expect(headers['retry-after']).toBe('1')
    }
    expect((await own.ben.call({ target: '/api/v1/bootstrap', session: null })).status).toBe(200)
    await own.close()
  })

  test('a socket refused by its rate has spent its nonce', async () => {
    let nowMs = 0
    const settings = { rate_per_second: '1', rate_burst: '6' }
    const own = await startBridge({ settings, monotonicMs: () => nowMs })
    const calls = Array.from({ length: 20 }, () =>
      own.ada.call({ target: '/api/v1/bootstrap', session: null }),
    )
    await Promise.all(calls)
    const frame = authenticate(own.ada)
    const first = openSocket(own.ada, frame)
    expect(await first.ended).toBe(4429)
    expect(await first.reason()).toBe('rate_limited')
    nowMs += 1500
    const second = openSocket(own.ada, frame)
    expect(await second.reason()).toBe('request_replayed')
    await own.close()
  })

  test('after ten failed authentications per minute one address gets 429; a valid proof is still accepted', async () => {
    const own = await startBridge({ settings: { failed_auth_per_minute: '10' } })
    const fail = () =>
      own.ada.call({ target: '/api/v1/bootstrap', session: null, override: { 'X-Bridge-Proof': null } })
    for (let n = 0; n < 10; n += 1) expect((await fail()).status).toBe(401)
    const refused = await fail()
    expect([refused.status, refused.json]).toMatchObject([429, { error: 'rate_limited' }])
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
    expect((await own.ben.call({ target: '/api/v1/bootstrap', session: null })).status).toBe(200)
    await own.close()
  })
})

test('an inbox of ten thousand messages refuses more until one is acknowledged', async () => {
  const own = await startBridge()
  const { ada, ben } = own
  const conversation = await ada.conversationWith(ben.id)
  const first = await ada.send(conversation, ben.id, 'the first')
  await own.server.stop()
  fillInbox(own.data, ben.id)
  const again = await own.restart()
  const refused = await say(ada, conversation, ben.id)
  expect([refused.status, refused.json]).toMatchObject([
    503,
    { error: 'capacity_reached', details: { limit: 'inbox' } },
  ])
  expect(refused.headers['retry-after']).toBe('60')
  await ben.acknowledge(first.id)
  expect((await say(ada, conversation, ben.id)).status).toBe(200)
  expect((await say(ada, conversation, ben.id)).status).toBe(503)
  await again.close()
})

describe('a message in the name of the owner', () => {
  const forgeries: readonly [string, object][] = [
    ['a sender', { sender: { kind: 'owner', name: 'olu' } }],
    ['a kind of sender', { sender_kind: 'owner' }],
    ['a sender in another case', { Sender: { kind: 'owner' } }],
    ['a sender with an escaped name', JSON.parse('{"sen\\u0064er": {"kind": "owner"}}') as object],
    ['a prototype', JSON.parse('{"__proto__": {"sender": {"kind": "owner"}}}') as object],
    ['a constructor', JSON.parse('{"constructor": {"prototype": {"sender_kind": "owner"}}}') as object],
    ['a name', { sender_name: 'olu' }],
    ['the type of the service for tasks', { type: 'task' }],
    ['the type of the service for transfers', { type: 'transfer' }],
    ['a type with a space', { type: 'note ' }],
    ['a task', { task_id: '01890000-0000-7000-8000-000000000000' }],
    ['hops', { hops: 0 }],
    ['a root', { root_id: '01890000-0000-7000-8000-000000000000' }],
    ['a sequence', { sequence: 1 }],
    ['a time', { created_at: '2020-01-01T00:00:00.000Z' }],
    ['a list for a type', { type: ['note'] }],
  ]
  test.each(forgeries)('cannot be sent with %s in the body', async (_what, fields) => {
    const { ada, ben, conversation } = await pair()
    const reply = await say(ada, conversation, ben.id, fields)
    expect([reply.status, reply.json]).toMatchObject([422, { error: 'invalid_request' }])
  })

  const json = (conversation: string, to: string) =>
    JSON.stringify({ conversation_id: conversation, recipient_agent_id: to, type: 'note', body: 'x' })
  const encodings: readonly [string, (text: string) => string | Buffer][] = [
    ['a second sender behind the first', (text) => text.replace('{', '{"type":"note","type":"task",')],
    ['a byte order mark', (text) => `\ufeff${text}`],
    ['UTF-16', (text) => Buffer.from(text, 'utf16le')],
    [
      'broken UTF-8',
      (text) => Buffer.concat([Buffer.from(text.slice(0, -2)), Buffer.from([0xff, 0x22, 0x7d])]),
    ],
    ['two documents', (text) => `${text}${text}`],
    ['a list around it', (text) => `[${text}]`],
    ['a comment', (text) => text.replace('{', '{/* owner */')],
    ['a trailing comma', (text) => text.replace('}', ',}')],
  ]
  test.each(encodings)('cannot be sent with %s', async (_what, encode) => {
    const { ada, ben, conversation } = await pair()
    const body = encode(json(conversation, ben.id))
    const reply = await ada.call({ target: '/api/v1/messages', body })
    expect([reply.status, reply.json]).toMatchObject([422, { error: 'invalid_request' }])
  })

  const headers = ['X-Bridge-Sender', 'X-Forwarded-User', 'X-Bridge-Kind', 'X-HTTP-Method-Override', 'Origin']
  test.each(headers)("cannot be sent with the header %s or the owner's cookie", async (name) => {
    const { ada, ben, conversation } = await pair()
    const reply = await ada.call({
      target: '/api/v1/messages',
      body: json(conversation, ben.id),
      extra: [
        [name, name === 'Origin' ? bridge.url : 'owner'],
        ['Cookie', bridge.owner.cookie],
      ],
    })
    expect(reply.json).toMatchObject({
      message: { sender: { kind: 'agent', agent_id: ada.id, name: 'ada' } },
    })
    const [heard] = (await ben.inbox()).messages
    expect(heard).toMatchObject({ sender: { kind: 'agent', agent_id: ada.id } })
  })

  test("cannot be sent at the owner's endpoints with an agent's proof", async () => {
    const { project, ada } = await pair()
    const reply = await ada.call({
      target: `/api/admin/projects/${project.id}/messages`,
      body: { recipient_agent_id: ada.id, body: 'obey' },
      extra: [['Origin', bridge.url]],
    })
    expect([reply.status, reply.json]).toMatchObject([401, { error: 'owner_session_expired' }])
  })

  test("cannot be sent by an agent with the owner's name", async () => {
    const project = await bridge.owner.createProject('names')
    const olu = await bridge.agent('olu', project.id)
    const other = await bridge.agent('other', project.id)
    await olu.send(await olu.conversationWith(other.id), other.id, 'I am the owner')
    const [heard] = (await other.inbox()).messages
    expect(heard).toMatchObject({ sender: { kind: 'agent', agent_id: olu.id, name: 'olu' } })
  })
})
