/**
 * Offers of messages: their order, their repetition, and the rules for counting one as made. They are the
 * same on every transport.
 *
 * Contract §6.
 */
import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { TestAgent } from '../../support/agent.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { messagesOf, openSocket, transports } from '../../support/streams.ts'
import { tamper } from '../../support/tamper.ts'
import { connectionOf, listen, until } from './listeners.ts'

let bridge: TestBridge
let names = 0

beforeAll(async () => {
  bridge = await startBridge()
})
afterAll(() => bridge.close())

async function pair(of: TestBridge = bridge) {
  names += 1
  const project = await of.owner.createProject(`project ${names}`, { policy: { message_budget: 100_000 } })
  const sender = await of.agent('sender', project.id)
  const reader = await of.agent('reader', project.id)
  return { project, sender, reader, conversation: await sender.conversationWith(reader.id) }
}

const bodies = (messages: readonly { body: string }[]) => messages.map(({ body }) => body)
const numbered = (count: number, from = 1) => Array.from({ length: count }, (_, n) => String(n + from))

async function sendAll(from: TestAgent, conversation: string, to: TestAgent, texts: readonly string[]) {
  const sent: { id: string }[] = []
  for (const text of texts) sent.push(await from.send(conversation, to.id, text))
  return sent
}

describe.each(transports)('over the %s', (name, open) => {
  test('first offers arrive in order, those stored before and during the wait', async () => {
    const { sender, reader, conversation } = await pair()
    await sendAll(sender, conversation, reader, numbered(130))
    const stream = open(reader)
    await sendAll(sender, conversation, reader, numbered(30, 131))
    const came = await stream.messages(160)
    expect(bodies(came)).toEqual(numbered(160))
    expect(came.every(({ delivery }) => delivery.attempt === 1)).toBe(true)
    stream.close()
  })

  test('two waits of one session share its mail: each message arrives once', async () => {
    const { sender, reader, conversation } = await pair()
    const one = await listen(bridge, reader, open)
    const two = open(reader)
    await Promise.all([one.opened, two.opened])
    const texts = numbered(40)
    await Promise.all(texts.map((text) => sender.send(conversation, reader.id, text)))
    const last = await sender.send(conversation, reader.id, 'last')
    const all = () =>
      [...one.events, ...two.events].filter(({ type }) => type === 'messages').flatMap(messagesOf)
    await until(all, (came) => came.some(({ id }) => id === last.id) && came.length >= 41)
    expect(bodies(all()).sort()).toEqual([...texts, 'last'].sort())
    one.close()
    two.close()
  })

  test('an unacknowledged message is offered again after sixty seconds, an acknowledged one never', async () => {
    const own = await startBridge()
    onTestFinished(own.clock.hold())
    const { sender, reader, conversation } = await pair(own)
    const stream = await listen(own, reader, open)
    await sendAll(sender, conversation, reader, ['kept', 'done'])
    const [kept, done] = await stream.messages(2)
    await reader.acknowledge(done?.id ?? '')
    own.clock.advance(58)
    await sender.send(conversation, reader.id, 'meanwhile')
    expect(bodies(await stream.messages(3))).toEqual(['kept', 'done', 'meanwhile'])
    own.clock.advance(3)
    // A waiting long-poll measures time by the monotonic clock, which no test moves, and checks it at its
    // next turn.
    if (name === 'long-poll') await sender.send(conversation, reader.id, 'turn')
    const came = await stream.messages(name === 'long-poll' ? 5 : 4)
    const again = came.filter(({ id }) => id === kept?.id)
    expect(again.map(({ delivery }) => delivery.attempt)).toEqual([1, 2])
    expect(again[1]?.delivery.first_offered_at).toBe(again[0]?.delivery.first_offered_at)
    expect(came.filter(({ id }) => id === done?.id)).toHaveLength(1)
    stream.close()
    await own.close()
  })

  test.skipIf(name === 'long-poll')(
    'a message offered to an earlier wait is offered again when due, although new mail arrived meanwhile',
    async () => {
      const own = await startBridge()
      onTestFinished(own.clock.hold())
      const { sender, reader, conversation } = await pair(own)
      await sender.send(conversation, reader.id, 'early')
      expect(bodies((await reader.inbox()).messages)).toEqual(['early'])
      own.clock.advance(50)
      await sender.send(conversation, reader.id, 'fresh')
      const stream = open(reader)
      await stream.messages(1)
      own.clock.advance(2)
      await sender.send(conversation, reader.id, 'more')
      await stream.messages(2)
      own.clock.advance(9)
      expect(bodies(await stream.messages(3))).toEqual(['fresh', 'more', 'early'])
      stream.close()
      await own.close()
    },
  )

  test('a new session is offered every unacknowledged message', async () => {
    const { project, sender, reader, conversation } = await pair()
    const first = await listen(bridge, reader, open)
    await sendAll(sender, conversation, reader, ['one', 'two'])
    const [one] = await first.messages(2)
    await reader.acknowledge(one?.id ?? '')
    const { grant } = await bridge.owner.takeover(project.id, reader.id)
    await first.ended
    await reader.startSession(crypto.randomUUID(), { takeover_grant: grant })
    const second = open(reader)
    const [again] = await second.messages(1)
    expect(again).toMatchObject({ body: 'two', delivery: { attempt: 2 } })
    second.close()
  })

  test('a message of a disabled pair is withheld without ending the wait, and delivered once the pair is enabled', async () => {
    const { project, sender, reader, conversation } = await pair()
    const other = await bridge.agent('other', project.id)
    await sender.send(conversation, reader.id, 'withheld')
    await bridge.owner.setPairing(project.id, [sender.id, reader.id], false)
    const stream = open(reader)
    await stream.opened
    const aside = await other.conversationWith(reader.id)
    await other.send(aside, reader.id, 'from another')
    expect(bodies(await stream.messages(1))).toEqual(['from another'])
    await bridge.owner.setPairing(project.id, [sender.id, reader.id], true)
    expect(bodies(await stream.messages(2))).toEqual(['from another', 'withheld'])
    stream.close()
  })

  test('a paused project keeps its waits open, and the owner can still write', async () => {
    const { project, reader } = await pair()
    const stream = await listen(bridge, reader, open)
    await bridge.owner.setProject(project.id, 'paused')
    await bridge.owner.message(project.id, reader.id, 'stay')
    expect(bodies(await stream.messages(1))).toEqual(['stay'])
    stream.close()
  })
})

test('an offer withheld in between is not repeated until the pair is enabled', async () => {
  const own = await startBridge()
  const { project, sender, reader, conversation } = await pair(own)
  await sender.send(conversation, reader.id, 'once')
  expect((await reader.inbox()).messages).toHaveLength(1)
  await own.owner.setPairing(project.id, [sender.id, reader.id], false)
  own.clock.advance(61)
  expect((await reader.inbox()).messages).toHaveLength(0)
  await own.owner.setPairing(project.id, [sender.id, reader.id], true)
  expect((await reader.inbox()).messages).toHaveLength(1)
  await own.close()
})

test('the traffic of another project neither wakes nor delays a wait', async () => {
  const { reader } = await pair()
  const busy = await pair()
  const began = performance.now()
  const answered: { atMs?: number } = {}
  const poll = reader.call({ target: '/api/v1/inbox?wait_seconds=10' }).finally(() => {
    answered.atMs = performance.now()
  })
  await until(
    () => connectionOf(bridge, reader),
    (words) => words.listening_now,
  )
  // The traffic continues until the wait ends. If a message delayed the end, the wait would never end.
  let sent = 0
  for (; answered.atMs === undefined; sent += 1) {
    await busy.sender.send(busy.conversation, busy.reader.id, `text ${sent}`)
    await setTimeout(20)
  }
  expect((await poll).json).toEqual({ messages: [], has_more: false, waiting: 0 })
  expect(answered.atMs - began).toBeGreaterThan(9990)
  expect(sent).toBeGreaterThan(3)
})

test('receipts reach the sender on its stream, and no other agent', async () => {
  const { sender, reader, conversation } = await pair()
  const hears = openSocket(sender)
  const others = openSocket(reader)
  await Promise.all([hears.opened, others.opened])
  const { id } = await sender.send(conversation, reader.id, 'well?')
  await others.take('messages')
  await reader.acknowledge(id)
  const { receipts } = await hears.take('receipts')
  expect(receipts).toMatchObject([{ message_id: id }])
  const message = await sender.ok<{ delivery: { acknowledged_at: string } }>({
    target: `/api/v1/messages/${id}`,
  })
  expect((receipts as { acknowledged_at: string }[])[0]?.acknowledged_at).toBe(
    message.delivery.acknowledged_at,
  )
  expect(others.events.map(({ type }) => type)).not.toContain('receipts')
  hears.close()
  others.close()
})

test.each(transports)(
  'the %s of an agent that another process has disabled ends without a receipt',
  async (_, open) => {
    const { sender, reader, conversation } = await pair()
    const stream = open(sender)
    await stream.opened
    const { id } = await sender.send(conversation, reader.id, 'well?')
    tamper(bridge.data, (database) =>
      database.prepare("UPDATE agents SET state = 'disabled' WHERE id = ?").run(sender.id),
    )
    await reader.acknowledge(id)
    await stream.ended
    expect(await stream.reason()).toBe('agent_disabled')
    expect(stream.events.map(({ type }) => type)).not.toContain('receipts')
  },
)

test('after a restart of the server every unacknowledged message is offered again, in order', async () => {
  const own = await startBridge()
  const { sender, reader, conversation } = await pair(own)
  const stream = await listen(own, reader, openSocket)
  await sendAll(sender, conversation, reader, numbered(5))
  const before = await stream.messages(5)
  await reader.acknowledge(before[1]?.id ?? '')
  const again = await own.restart()
  expect(await stream.ended).toBe(1012)
  const session = reader.session?.id
  await reader.startSession()
  expect(reader.session?.id).toBe(session)
  own.clock.advance(61)
  const second = openSocket(reader)
  expect(bodies(await second.messages(4))).toEqual(['1', '3', '4', '5'])
  // Messages offered before the restart fall due as well, although no new message wakes the wait.
  await until(
    () => connectionOf(again, reader),
    (words) => words.listening_now,
  )
  own.clock.advance(61)
  expect(bodies((await second.messages(8)).slice(4)).sort()).toEqual(['1', '3', '4', '5'])
  second.close()
  await again.close()
})
