/**
 * One Idempotency-Key has one outcome: a repetition gets the same bytes, another body gets a conflict, and a
 * refusal is not stored. Contract §2.
 */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { enroll, type TestAgent } from '../support/agent.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import type { Reply } from '../support/http.ts'

let bridge: TestBridge
let conversation: string

beforeAll(async () => {
  bridge = await startBridge()
  conversation = await bridge.ada.conversationWith(bridge.ben.id)
})
afterAll(() => bridge.close())

const send = (
  text: string,
  key: string,
  agent: TestAgent = bridge.ada,
  fields: object = {},
): Promise<Reply> => {
  const recipient_agent_id = agent === bridge.ada ? bridge.ben.id : bridge.ada.id
  const body = { conversation_id: conversation, recipient_agent_id, type: 'note', body: text, ...fields }
  return agent.call({ target: '/api/v1/messages', body, key })
}

const errorOf = (reply: Reply) => (reply.json as { error?: string }).error
const messageOf = (reply: Reply) => (reply.json as { message: { id: string; sequence: number } }).message
const isReplay = (reply: Reply) => reply.headers['idempotency-replayed'] === 'true'

/** Counts the messages with a text in the conversation. */
async function stored(text: string): Promise<number> {
  let count = 0
  for (let after = 0, more = true; more; ) {
    const page = await bridge.ada.ok<{
      messages: { body: string }[]
      next_sequence: number
      has_more: boolean
    }>({
      target: `/api/v1/conversations/${conversation}/messages?after_sequence=${after}&limit=100`,
    })
    count += page.messages.filter(({ body }) => body === text).length
    after = page.next_sequence
    more = page.has_more
  }
  return count
}

const pair = (enabled: boolean) =>
  bridge.owner.ok({
    target: `/api/admin/projects/${bridge.project.id}/pairings`,
    body: { agent_ids: [bridge.ada.id, bridge.ben.id], enabled },
  })

test('a repeated request gets the same bytes, marked as a replay, and has no second effect', async () => {
  const key = randomUUID()
  const first = await send('once', key)
  const again = await send('once', key)
  expect([first.status, isReplay(first)]).toEqual([200, false])
  expect([again.status, isReplay(again)]).toEqual([200, true])
  expect(again.text).toBe(first.text)
  expect(again.headers['content-type']).toBe(first.headers['content-type'])
  expect(await stored('once')).toBe(1)
})

test('another body with the same key is a conflict without effect, and the first answer stays stored', async () => {
  const key = randomUUID()
  const first = await send('said', key)
  for (const other of [await send('unsaid', key), await send('said', key, bridge.ada, { type: 'status' })]) {
    expect([other.status, errorOf(other)]).toEqual([409, 'idempotency_conflict'])
  }
  expect((await send('said', key)).text).toBe(first.text)
  expect(await stored('unsaid')).toBe(0)
})

test('the same fields in different bytes are a different request', async () => {
  const key = randomUUID()
  const body = {
    conversation_id: conversation,
    recipient_agent_id: bridge.ben.id,
    type: 'note',
    body: 'spaced',
  }
  const call = (text: string) =>
    bridge.ada.call({ target: '/api/v1/messages', method: 'POST', body: text, key, override: json })
  expect((await call(JSON.stringify(body))).status).toBe(200)
  expect(errorOf(await call(JSON.stringify(body, null, 1)))).toBe('idempotency_conflict')
})
const json = { 'Content-Type': 'application/json' }

test('a key belongs to its principal and its route', async () => {
  const key = randomUUID()
  const adas = await send('from ada', key)
  const bens = await send('from ben', key, bridge.ben)
  expect([bens.status, isReplay(bens)]).toEqual([200, false])
  expect(messageOf(bens).id).not.toBe(messageOf(adas).id)
  const body = { recipient_agent_id: bridge.ada.id }
  const opened = await bridge.ada.call({ target: '/api/v1/conversations', body, key })
  expect([opened.status, isReplay(opened)]).toEqual([200, false])
})

test('a repetition from a new session, with a new credential or to a restarted server gets the same bytes', async () => {
  const cy = await bridge.agent('cy')
  const own = await cy.conversationWith(cy.id)
  const call = { target: '/api/v1/messages', key: randomUUID() }
  const body = { conversation_id: own, recipient_agent_id: cy.id, type: 'note', body: 'to the owner' }
  const first = await cy.call({ ...call, body })

  await cy.ok({ target: '/api/v1/sessions/current/close', body: {}, key: null })
  await cy.startSession()
  expect((await cy.call({ ...call, body })).text).toBe(first.text)

  const code = await bridge.owner.enrollmentCode(bridge.project.id, cy.id)
  const again = await enroll(bridge.url, code, bridge.clock)
  await again.startSession()
  expect(again.enrolled.credential_id).not.toBe(cy.enrolled.credential_id)
  expect((await again.call({ ...call, body })).text).toBe(first.text)

  bridge = await bridge.restart()
  const replayed = await again.call({ ...call, body })
  expect([replayed.text, isReplay(replayed)]).toEqual([first.text, true])
})

test('the stored answer is repeated even if the current state would refuse the request', async () => {
  const key = randomUUID()
  const first = await send('before', key)
  await pair(false)
  expect(errorOf(await send('after', randomUUID()))).toBe('pairing_disabled')
  expect((await send('before', key)).text).toBe(first.text)
  await pair(true)
})

test('a refused request stores nothing, and its key can be used for the corrected request', async () => {
  const key = randomUUID()
  await pair(false)
  expect(errorOf(await send('refused', key))).toBe('pairing_disabled')
  await pair(true)
  const wrong = await send('refused', key, bridge.ada, { recipient_agent_id: randomUUID() })
  expect([wrong.status, errorOf(wrong)]).toEqual([422, 'invalid_request'])
  const right = await send('refused', key)
  expect([right.status, isReplay(right)]).toEqual([200, false])
  expect(await stored('refused')).toBe(1)
})

test('32 simultaneous requests with one key have one effect and 32 equal answers', async () => {
  const key = randomUUID()
  const replies = await Promise.all(Array.from({ length: 32 }, () => send('all together', key)))
  expect(replies.map(({ status }) => status)).toEqual(Array(32).fill(200))
  expect(new Set(replies.map(({ text }) => text)).size).toBe(1)
  expect(replies.filter((reply) => !isReplay(reply))).toHaveLength(1)
  expect(await stored('all together')).toBe(1)
})

test('of 32 simultaneous bodies with one key one succeeds, and the others get a conflict', async () => {
  const key = randomUUID()
  const texts = Array.from({ length: 32 }, (_, index) => `rival ${index}`)
  const replies = await Promise.all(texts.map((text) => send(text, key)))
  const won = replies.filter(({ status }) => status === 200)
  expect(won).toHaveLength(1)
  expect(new Set(replies.filter(({ status }) => status !== 200).map(errorOf))).toEqual(
    new Set(['idempotency_conflict']),
  )
  const counts = await Promise.all(texts.map(stored))
  expect(counts.reduce((sum, count) => sum + count, 0)).toBe(1)
})

test('a fenced session, a closed session and a disabled agent get no replay', async () => {
  const dot = await bridge.agent('dot')
  const own = await dot.conversationWith(dot.id)
  const body = { conversation_id: own, recipient_agent_id: dot.id, type: 'note', body: 'mine' }
  const call = { target: '/api/v1/messages', body, key: randomUUID() }
  const first = await dot.call(call)
  expect(first.status).toBe(200)
  const fenced = dot.session?.id ?? ''
  bridge.clock.advance(90)
  await dot.startSession(randomUUID())
  const closed = dot.session?.id ?? ''
  expect(errorOf(await dot.call({ ...call, session: fenced }))).toBe('session_fenced')
  await dot.ok({ target: '/api/v1/sessions/current/close', body: {}, key: null })
  expect(errorOf(await dot.call({ ...call, session: closed }))).toBe('session_closed')
  await dot.startSession()
  expect((await dot.call(call)).text).toBe(first.text)
  await bridge.owner.ok({
    target: `/api/admin/projects/${bridge.project.id}/agents/${dot.id}/state`,
    body: { state: 'disabled' },
  })
  expect(errorOf(await dot.call(call))).toBe('agent_disabled')
})

test("the owner's keys work in the same way, and an unknown project stores nothing", async () => {
  const key = randomUUID()
  const body = { recipient_agent_id: bridge.ada.id, body: 'word' }
  const target = `/api/admin/projects/${bridge.project.id}/messages`
  const elsewhere = await bridge.owner.call({
    target: `/api/admin/projects/${randomUUID()}/messages`,
    body,
    key,
  })
  expect(errorOf(elsewhere)).toBe('not_found')
  const first = await bridge.owner.call({ target, body, key })
  const again = await bridge.owner.call({ target, body, key })
  expect([first.status, isReplay(first), isReplay(again)]).toEqual([200, false, true])
  expect(again.text).toBe(first.text)
  const other = await bridge.owner.call({ target, body: { ...body, body: 'another word' }, key })
  expect([other.status, errorOf(other)]).toEqual([409, 'idempotency_conflict'])
})

test.each([null, 'short', 'a'.repeat(129), 'sp ace to spare', 'ümlaut-key'])(
  'the key %s is refused and nothing is sent',
  async (key) => {
    const text = `with key ${key}`
    const body = {
      conversation_id: conversation,
      recipient_agent_id: bridge.ben.id,
      type: 'note',
      body: text,
    }
    const reply =
      key === null
        ? await bridge.ada.call({ target: '/api/v1/messages', body, key })
        : await bridge.ada.call({ target: '/api/v1/messages', body, override: { 'Idempotency-Key': key } })
    expect([reply.status, errorOf(reply)]).toEqual([422, 'invalid_request'])
    expect(await stored(text)).toBe(0)
  },
)
