/** The session that a request names, and the client's reaction if the node refuses it. */
import { afterEach, expect, test } from 'vitest'
import {
  benId,
  bridgeAt,
  nextSessionId,
  sent,
  session,
  sessionId,
  sharedSessions,
  startedSession,
  talkId,
} from '../support/bridges.ts'
import { type Answer, answerJson, type FakeNode, refuse, startNode } from '../support/fake-node.ts'

const open: FakeNode[] = []
afterEach(async () => {
  for (const node of open.splice(0)) await node.close()
})

async function node(answer: Answer): Promise<FakeNode> {
  const started = await startNode(answer)
  open.push(started)
  return started
}

const input = { conversation_id: talkId, recipient_agent_id: benId, type: 'note', body: 'hello' } as const
const noSession = { ...startedSession, session_id: null, generation: null }

/** A node that knows one session and starts `nextSessionId`. */
const knows =
  (known: string | undefined, refusal: string): Answer =>
  ({ url, headers }, _nth, response) => {
    if (url === '/api/v1/sessions') answerJson(response, 200, session())
    else if (headers['x-bridge-session'] === known) answerJson(response, 200, sent())
    else refuse(response, 409, refusal)
  }

test('a stored session is used without a check, so a send is one request', async () => {
  const { url, heard } = await node(knows(sessionId, 'session_unknown'))
  await bridgeAt(url).messages.send(input)
  expect(heard.map(({ url: target }) => target)).toEqual(['/api/v1/messages'])
})

test('a missing session is started and stored, once for simultaneous calls', async () => {
  const { url, heard } = await node(knows(nextSessionId, 'session_unknown'))
  const sessions = sharedSessions(noSession)
  const bridge = bridgeAt(url, { sessions, client: { name: 'test', version: '9' } })
  await Promise.all([bridge.messages.send(input), bridge.messages.send(input), bridge.messages.send(input)])
  const starts = heard.filter(({ url: target }) => target === '/api/v1/sessions')
  expect(starts).toHaveLength(1)
  expect(JSON.parse(starts[0]?.body ?? '')).toEqual({
    instance_id: noSession.instance_id,
    client: { name: 'test', version: '9' },
  })
  expect(starts[0]?.headers['x-bridge-session']).toBeUndefined()
  expect(sessions.stored).toMatchObject({ session_id: nextSessionId, generation: 2 })
})

test.each(['session_unknown', 'session_closed'])(
  'after %s a session is started once and the call is retried',
  async (code) => {
    const { url, heard } = await node(knows(nextSessionId, code))
    const sessions = sharedSessions()
    await bridgeAt(url, { sessions }).messages.send(input)
    expect(heard.map(({ url: target }) => target)).toEqual([
      '/api/v1/messages',
      '/api/v1/sessions',
      '/api/v1/messages',
    ])
    expect(heard[0]?.headers['idempotency-key']).toBe(heard[2]?.headers['idempotency-key'])
    expect(sessions.stored.session_id).toBe(nextSessionId)
  },
)

test('a node that accepts no session is reported after one new session', async () => {
  const { url, heard } = await node(knows(undefined, 'session_unknown'))
  await expect(bridgeAt(url).messages.send(input)).rejects.toMatchObject({ code: 'session_unknown' })
  expect(heard.filter(({ url: target }) => target === '/api/v1/sessions')).toHaveLength(1)
})

test('a session started by another process of the profile is used instead of a third one', async () => {
  const sessions = sharedSessions()
  const { url, heard } = await node((heardNow, nth, response) => {
    if (nth === 1) sessions.stored = { ...startedSession, session_id: nextSessionId }
    knows(nextSessionId, 'session_closed')(heardNow, nth, response)
  })
  await bridgeAt(url, { sessions }).messages.send(input)
  expect(heard.map(({ url: target }) => target)).toEqual(['/api/v1/messages', '/api/v1/messages'])
})

test('a process does not restart its session after another one closed it on purpose', async () => {
  const sessions = sharedSessions()
  const { url, heard } = await node((_heard, _nth, response) => {
    sessions.stored = noSession
    refuse(response, 409, 'session_closed')
  })
  await expect(bridgeAt(url, { sessions }).messages.send(input)).rejects.toMatchObject({
    code: 'session_closed',
  })
  expect(heard).toHaveLength(1)
})

test.each(['session_fenced', 'session_active', 'takeover_pending'])('%s starts no session', async (code) => {
  const { url, heard } = await node((_heard, _nth, response) => refuse(response, 409, code))
  const sessions = sharedSessions()
  await expect(bridgeAt(url, { sessions }).messages.send(input)).rejects.toMatchObject({ code })
  expect(heard).toHaveLength(1)
  expect(sessions.stored).toEqual(startedSession)
})

test('closing updates the store first, and works without a session', async () => {
  const sessions = sharedSessions()
  const seen: (string | null)[] = []
  const { url, heard } = await node((_heard, _nth, response) => {
    seen.push(sessions.stored.session_id)
    answerJson(response, 200, { id: sessionId, closed_at: '2026-01-01T00:00:00.000Z' })
  })
  const bridge = bridgeAt(url, { sessions })
  expect(await bridge.sessions.close()).toMatchObject({ id: sessionId })
  expect(seen).toEqual([null])
  expect(heard[0]?.headers['x-bridge-session']).toBe(sessionId)
  expect(await bridge.sessions.close()).toBeUndefined()
  expect(heard).toHaveLength(1)
})

test('closing a session that has ended is no error', async () => {
  const { url, heard } = await node((_heard, _nth, response) => refuse(response, 409, 'session_unknown'))
  expect(await bridgeAt(url).sessions.close()).toBeUndefined()
  expect(heard).toHaveLength(1)
})
