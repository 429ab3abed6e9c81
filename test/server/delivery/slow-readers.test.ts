/**
 * A client that stops reading is disconnected, uses bounded memory, and loses no message.
 *
 * Limits of reliability §2.6; contract §6 "slow reader".
 */
import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TestAgent } from '../../support/agent.ts'
import type { TestBridge } from '../../support/bridge.ts'
import { messagesOf, openEvents, openSocket } from '../../support/streams.ts'
import { heldTime } from './held-time.ts'
import { connectionOf, listen, lookUp, until } from './listeners.ts'

const { clock, pass, ...time } = heldTime()
let bridge: TestBridge
let names = 0

beforeAll(async () => {
  bridge = await time.start()
})
afterAll(() => time.stop(bridge))

async function pair() {
  names += 1
  const project = await bridge.owner.createProject(`project ${names}`, {
    policy: { message_budget: 100_000 },
  })
  const sender = await bridge.agent('sender', project.id)
  const reader = await bridge.agent('reader', project.id)
  return { project, sender, reader, conversation: await sender.conversationWith(reader.id) }
}

const pushed = [
  ['event stream', openEvents],
  ['socket', openSocket],
] as const
/** Each character takes six bytes in JSON, so 40 kB become 240 kB: as much as one request can carry. */
const costly = '\u0001'.repeat(40_000)

type Pair = Awaited<ReturnType<typeof pair>>

/** Sends until the buffers of two sockets are full. Returns the number of messages sent. */
async function sendUntilStuck({ sender, reader, conversation }: Pair): Promise<number> {
  let sent = 0
  do {
    await Promise.all(Array.from({ length: 4 }, () => sender.send(conversation, reader.id, costly)))
    sent += 4
  } while (!(await isStuck(reader)))
  return sent
}

/** Sends until the server closes the reader's connection. Returns the number of messages sent. */
async function sendUntilCut(its: Pair): Promise<number> {
  const { reader } = its
  const sent = await sendUntilStuck(its)
  // After ten seconds without progress the reader is cut, and for five more it counts as listening.
  pass(10)
  expect((await connectionOf(bridge, reader)).listening_now).toBe(true)
  pass(6)
  expect((await connectionOf(bridge, reader)).listening_now).toBe(false)
  return sent
}

/** Whether messages wait for a reader and none of them moves for five seconds. */
async function isStuck({ id }: TestAgent): Promise<boolean> {
  const waiting = () =>
    lookUp(bridge, 'SELECT count(*) FROM messages WHERE inbox_agent_id = ? AND offers = 0', id)
  let left = waiting()
  for (let tries = 0; left !== 0 && tries < 100; tries += 1) {
    await setTimeout(50)
    const now = waiting()
    if (now !== left) tries = 0
    left = now
  }
  return left !== 0
}

/**
 * Counts the messages of a conversation that the server records as offered, over all pages of its history.
 */
async function countOffered(projectId: string, conversationId: string): Promise<number> {
  let offered = 0
  let after = 0
  for (let more = true; more; ) {
    const page = await bridge.owner.ok<{
      messages: { delivery: { offers: number } }[]
      has_more: boolean
      next_sequence: number
    }>({
      target: `/api/admin/projects/${projectId}/conversations/${conversationId}/messages?after_sequence=${after}`,
    })
    offered += page.messages.filter(({ delivery }) => delivery.offers > 0).length
    after = page.next_sequence
    more = page.has_more
  }
  return offered
}

describe.each(pushed)('over the %s', (_name, open) => {
  test('a client that stops reading is disconnected, and its missed messages are offered to its next wait', async () => {
    const its = await pair()
    const { sender, reader, conversation } = its
    const slow = await listen(bridge, reader, open)
    await sender.send(conversation, reader.id, 'begin')
    await slow.messages(1)
    slow.pause()
    const count = await sendUntilCut(its)
    const next = open(reader)
    slow.resume()
    await slow.ended
    const got = () => {
      const all = [...slow.events, ...next.events].filter(({ type }) => type === 'messages')
      return new Set(all.flatMap(messagesOf).map(({ id }) => id))
    }
    await until(got, (ids) => ids.size === count + 1)
    // It received at most one page and the contents of two socket buffers, so at least the last message is missing.
    const stuck = slow.events.filter(({ type }) => type === 'messages').flatMap(messagesOf).length
    expect(stuck).toBeLessThan(count + 1)
    next.close()
  })

  test('a wait to which another wait of its session left nothing offers an older message when due', async () => {
    const its = await pair()
    const { sender, reader, conversation } = its
    await sender.send(conversation, reader.id, 'begin')
    await reader.inbox()
    pass(50)
    const slow = await listen(bridge, reader, open)
    slow.pause()
    await sendUntilStuck(its)
    // The backstop has noticed all messages, so that nothing else makes the second wait read.
    pass(1)
    const second = open(reader)
    await second.opened
    expect(await isStuck(reader)).toBe(true)
    // It reads once more, while the rest is in flight in the first wait.
    pass(2)
    expect(await isStuck(reader)).toBe(true)
    slow.resume()
    await until(
      () =>
        lookUp(bridge, 'SELECT count(*) FROM messages WHERE inbox_agent_id = ? AND offers = 0', reader.id),
      (count) => count === 0,
    )
    slow.close()
    await slow.ended
    pass(10)
    const again = () => second.events.filter(({ type }) => type === 'messages').flatMap(messagesOf)
    await expect.poll(again, { timeout: 10_000 }).toContainEqual(expect.objectContaining({ body: 'begin' }))
    second.close()
  })

  test('a page of the most expensive characters does not disconnect a client that keeps reading', async () => {
    const { sender, reader, conversation } = await pair()
    for (let n = 0; n < 8; n += 1) await sender.send(conversation, reader.id, costly)
    const stream = open(reader)
    const came = await stream.messages(8)
    expect(came.map(({ delivery }) => delivery.attempt)).toEqual(Array(8).fill(1))
    const largest = Math.max(...stream.events.map(({ data }) => Buffer.byteLength(JSON.stringify(data))))
    expect(largest).toBeLessThan(1024 * 1024)
    stream.close()
  })

  test('a client that stopped reading receives no further message once it lost its permission', async () => {
    const its = await pair()
    const { project, sender, reader, conversation } = its
    const slow = await listen(bridge, reader, open)
    await sender.send(conversation, reader.id, 'begin')
    await slow.messages(1)
    slow.pause()
    await sendUntilCut(its)
    await bridge.owner.revoke(project.id, reader.enrolled.credential_id)
    await until(
      () => connectionOf(bridge, reader),
      (words) => words.next_contact.kind !== 'listening',
    )
    slow.resume()
    // No time limit here, because the speed of reading depends on this process.
    await slow.ended
    // Data in the kernel's buffers cannot be withdrawn; data in the server was dropped.
    const offered = await countOffered(project.id, conversation)
    const got = slow.events.filter(({ type }) => type === 'messages').flatMap(messagesOf).length
    expect(got).toBe(offered)
  })
})

test('a client that only sends pings and reads no answer is disconnected', async () => {
  const { reader } = await pair()
  const socket = openSocket(reader)
  await socket.opened
  socket.pause()
  let flooding = true
  const flood = (async () => {
    while (flooding && socket.socket.readyState === socket.socket.OPEN) {
      for (let n = 0; n < 2000; n += 1) socket.send('{"type":"ping"}')
      await setTimeout(5)
    }
  })()
  await until(
    () => {
      clock.advance(1)
      return connectionOf(bridge, reader)
    },
    (words) => !words.listening_now,
  )
  flooding = false
  await flood
  socket.close()
})
