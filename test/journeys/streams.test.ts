/** Pushed messages: the event stream and the socket have the same events. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TestAgent } from '../support/agent.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { type OpenStream, openEvents, openSocket } from '../support/streams.ts'

let bridge: TestBridge

beforeAll(async () => {
  bridge = await startBridge()
})
afterAll(() => bridge.close())

const bodies = (data: Record<string, unknown>) =>
  (data.messages as { body: string }[]).map((each) => each.body)
const idOf = (data: Record<string, unknown>) => (data.messages as { id: string }[])[0]?.id ?? ''

const transports: [string, (agent: TestAgent) => OpenStream][] = [
  ['event stream', openEvents],
  ['socket', openSocket],
]

describe.each(transports)('over the %s', (_name, open) => {
  test('stored messages arrive immediately, new ones when they are stored, and receipts reach the sender', async () => {
    const { ada, ben } = bridge
    const conversation = await ada.conversationWith(ben.id)
    await ada.send(conversation, ben.id, 'before')
    const hears = open(ben)
    const sender = open(ada)
    const first = await hears.take('messages')
    expect(bodies(first)).toEqual(['before'])
    await ada.send(conversation, ben.id, 'while open')
    const second = await hears.take('messages')
    expect(bodies(second)).toEqual(['while open'])
    await ben.ok({
      target: '/api/v1/acknowledgements',
      body: { message_ids: [idOf(first), idOf(second)] },
      key: null,
    })
    const { receipts } = await sender.take('receipts')
    expect(receipts).toMatchObject([{ message_id: idOf(first) }, { message_id: idOf(second) }])
    hears.close()
    sender.close()
  })

  test('a revoked credential ends the stream with its reason, and nothing arrives afterwards', async () => {
    const lost = await bridge.agent(`lost-${_name.replace(' ', '-')}`)
    const hears = open(lost)
    const conversation = await bridge.ada.conversationWith(lost.id)
    await bridge.ada.send(conversation, lost.id, 'you are still here')
    await hears.take('messages')
    await bridge.owner.ok({
      target: `/api/admin/projects/${bridge.project.id}/credentials/${lost.enrolled.credential_id}/revoke`,
      body: {},
    })
    const reason = _name === 'socket' ? (await hears.take('error')).error : await hears.take('session')
    expect(reason).toMatchObject(
      _name === 'socket' ? { error: 'credential_revoked' } : { code: 'credential_revoked' },
    )
    expect(await hears.ended).toBe(_name === 'socket' ? 4401 : 200)
  })
})

test('a socket that sends anything but a ping is closed', async () => {
  const socket = openSocket(bridge.ben)
  await socket.take('ready')
  socket.send('{"type":"ping"}')
  await socket.take('pong')
  socket.send('{"type":"messages"}')
  expect(await socket.ended).toBe(1008)
})

test('a socket whose first frame does not authenticate is closed', async () => {
  const socket = openSocket(bridge.ben, { type: 'hello' })
  expect(await socket.take('error')).toMatchObject({ error: { error: 'unauthenticated' } })
  expect(await socket.ended).toBe(4401)
})

test('a third wait of a session is refused on every transport', async () => {
  const carl = await bridge.agent('carl')
  const one = openSocket(carl)
  await one.take('ready')
  const two = openSocket(carl)
  await two.take('ready')
  const stream = openEvents(carl)
  expect(await stream.take('refused')).toMatchObject({ error: 'wait_limit' })
  const three = openSocket(carl)
  expect(await three.ended).toBe(4429)
  const poll = await carl.call({ target: '/api/v1/inbox?wait_seconds=1' })
  expect(poll.json).toMatchObject({ error: 'wait_limit' })
  one.close()
  two.close()
})
