/** One request id connects every answer with its log line and its audit record. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { generateKeyPair } from '../../sdk/signing/keys.ts'
import { claimBody } from '../support/agent.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { exchange, type Reply } from '../support/http.ts'
import { openSocket } from '../support/streams.ts'
import { openWait, untilListening } from '../support/waits.ts'

interface Line {
  readonly msg: string
  readonly request_id?: string
  readonly route?: string
  readonly status?: number
  readonly [field: string]: unknown
}

let bridge: TestBridge
const lines: Line[] = []

beforeAll(async () => {
  bridge = await startBridge({
    settings: { log_level: 'info' },
    logTo: { write: (line) => lines.push(JSON.parse(line) as Line) },
  })
})
afterAll(() => bridge?.close())

const idOf = ({ headers }: Reply): string => String(headers['x-request-id'])
const linesOf = (id: string) => lines.filter(({ request_id }) => request_id === id)

async function recordsOf(id: string) {
  const { audit } = await bridge.owner.ok<{ audit: { kind: string; request_id: string | null }[] }>({
    target: `/api/admin/projects/${bridge.project.id}/audit?limit=100`,
  })
  return audit.filter(({ request_id }) => request_id === id).map(({ kind }) => kind)
}

test('a successful mutation has one id in its answer, its log line and its audit record', async () => {
  const { ada, ben } = bridge
  const conversation = await ada.conversationWith(ben.id)
  const body = { conversation_id: conversation, recipient_agent_id: ben.id, type: 'note', body: 'hello' }
  const reply = await ada.call({ target: '/api/v1/messages', body })
  const id = idOf(reply)
  expect(reply.status).toBe(200)
  await expect.poll(() => linesOf(id)).toHaveLength(1)
  expect(linesOf(id)[0]).toMatchObject({
    msg: 'answered',
    method: 'POST',
    route: '/api/v1/messages',
    status: 200,
    caller: 'agent',
  })
  expect(await recordsOf(id)).toEqual(['message.sent'])
})

test('a refused mutation also has the id in its body and in its audit record', async () => {
  const { id: eveId } = await bridge.owner.createAgent(bridge.project.id, 'eve')
  const code = await bridge.owner.enrollmentCode(bridge.project.id, eveId)
  const claim = () =>
    exchange(bridge.url, {
      method: 'POST',
      target: '/api/v1/enrollments/claim',
      headers: [['Content-Type', 'application/json']],
      body: JSON.stringify(claimBody(code, generateKeyPair())),
    })
  expect((await claim()).status).toBe(200)
  const refused = await claim()
  const id = idOf(refused)
  expect(refused.json).toMatchObject({ error: 'enrollment_used', request_id: id })
  await expect.poll(() => linesOf(id)).toHaveLength(1)
  expect(linesOf(id)[0]).toMatchObject({ msg: 'answered', status: 410, caller: 'public' })
  expect(await recordsOf(id)).toEqual(['enrollment.reused'])
  expect(JSON.stringify(lines)).not.toContain(code)
})

test('a mutation that changed nothing has a log line and no audit record', async () => {
  const reply = await bridge.ada.call({ target: '/api/v1/messages', body: { body: 'nobody' } })
  const id = idOf(reply)
  expect(reply.json).toMatchObject({ error: 'invalid_request', request_id: id })
  await expect.poll(() => linesOf(id).map(({ status }) => status)).toEqual([422])
  expect(await recordsOf(id)).toEqual([])
})

test('every answer has a log line, also for an unknown path and for an upgrade', async () => {
  for (const target of ['/nowhere', '/%zz']) {
    const id = idOf(await exchange(bridge.url, { method: 'GET', target }))
    await expect.poll(() => linesOf(id).map(({ route, status }) => [route, status])).toEqual([['none', 404]])
  }
  const socket = openSocket(bridge.ada, { type: 'authenticate', headers: {} })
  await socket.ended
  const [opened] = lines.filter(({ route, status }) => route === '/api/v1/socket' && status === 101)
  expect(linesOf(opened?.request_id ?? '').map(({ msg, refusal }) => [msg, refusal])).toEqual([
    ['answered', undefined],
    ['refused', 'unauthenticated'],
  ])
})

test('a client that disconnects before its answer leaves a log line that records it', async () => {
  const wait = openWait(bridge.ada)
  await untilListening(bridge, bridge.ada)
  await wait.reset()
  const cut = () => lines.filter(({ msg }) => msg === 'cut')
  await expect.poll(cut).toHaveLength(1)
  expect(cut()[0]).toMatchObject({ route: '/api/v1/inbox', caller: 'agent' })
  expect(cut()[0]).not.toHaveProperty('status')
})

test('every log line about a request has its id', () => {
  const isOfTheNode = /listening|notifications of other nodes|hears other nodes/i
  const nameless = lines.filter(({ request_id, msg }) => request_id === undefined && !isOfTheNode.test(msg))
  expect(nameless).toEqual([])
  expect(lines.length).toBeGreaterThan(5)
})
