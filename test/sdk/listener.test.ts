/** Listening: pages in order, across an unreachable node, until the caller or the owner's policy ends it. */
import { afterEach, expect, test } from 'vitest'
import type { ReceivedPage } from '../../sdk/index.ts'
import { bridgeAt, message, session, sharedSessions, startedSession } from '../support/bridges.ts'
import { testClock } from '../support/clock.ts'
import { type Answer, answerJson, type FakeNode, refuse, startNode } from '../support/fake-node.ts'
import { movableMs } from '../support/sdk-listener.ts'

const open: FakeNode[] = []
afterEach(async () => {
  for (const node of open.splice(0)) await node.close()
})

async function node(answer: Answer): Promise<FakeNode> {
  const started = await startNode(answer)
  open.push(started)
  return started
}

const clockOf = (monotonicMs: () => number) => () => new Date(Date.now() + monotonicMs() - performance.now())

/** Fits both an offer and the list of unacknowledged messages. */
const page = (...messages: object[]) => ({
  messages,
  has_more: false,
  waiting: messages.length,
  next_after: null,
})

/** Gives the answers in turn; after the last one the node is silent. */
const inTurn =
  (...answers: Answer[]): Answer =>
  (heard, nth, response) =>
    answers[nth - 1]?.(heard, nth, response)
const gives =
  (...messages: object[]): Answer =>
  (_heard, _nth, response) =>
    answerJson(response, 200, page(...messages))
const breaks: Answer = (_heard, _nth, response) => void response.socket?.destroy()
const refuses =
  (status: number, code: string, more = {}): Answer =>
  (_heard, _nth, response) =>
    refuse(response, status, code, more)

test('messages arrive one by one and are acknowledged only on request', async () => {
  const acknowledged: string[] = []
  const { url, heard } = await node((request, nth, response) => {
    if (request.method === 'GET')
      return nth === 1 ? gives(message(1), message(2))(request, nth, response) : undefined
    acknowledged.push(...(JSON.parse(request.body) as { message_ids: string[] }).message_ids)
    answerJson(response, 200, { acknowledged, already: [] })
  })
  const seen: number[] = []
  for await (const received of bridgeAt(url).listen()) {
    seen.push(received.sequence)
    expect(JSON.parse(JSON.stringify(received))).toEqual(message(received.sequence))
    if (received.sequence === 2) {
      await received.acknowledge()
      break
    }
  }
  expect(seen).toEqual([1, 2])
  expect(acknowledged).toEqual([message(2).id])
  expect(heard[0]?.url).toBe('/api/v1/inbox?wait_seconds=20')
})

test('the client waits for an unreachable node with growing pauses, and reports each change once', async () => {
  const down = [breaks, breaks, breaks]
  const { url } = await node(inTurn(gives(message(1)), ...down, gives(message(2))))
  const pauses: number[] = []
  const told: string[] = []
  const bridge = bridgeAt(url, {
    sleep: async (ms) => void pauses.push(ms),
    random: (bytes) => Buffer.alloc(bytes, 255),
  })
  const seen: number[] = []
  for await (const received of bridge.listen({
    onConnection: (away) => told.push(away?.message ?? 'back'),
  })) {
    seen.push(received.sequence)
    if (seen.length === 2) break
  }
  expect(seen).toEqual([1, 2])
  expect(told).toEqual([expect.stringMatching(/^GET \/api\/v1\/inbox.*: .*connection/), 'back'])
  expect(pauses.map(Math.round)).toEqual([500, 1000, 2000])
})

test('a node that was never reached is an immediate error', async () => {
  const { url } = await node(breaks)
  await expect(bridgeAt(url).listen().next()).rejects.toMatchObject({ code: 'unreachable' })
})

test('a node that answered only the start of the session may die during the first poll', async () => {
  const starts: Answer = (_heard, _nth, response) => answerJson(response, 200, session())
  const { url } = await node(inTurn(starts, breaks, breaks, gives(), gives(message(1))))
  for await (const received of bridgeAt(url, { sessions: undefined }).listen()) {
    expect(received.sequence).toBe(1)
    break
  }
})

test('a node that refused the first poll for now was reached', async () => {
  const { url } = await node(inTurn(refuses(503, 'unavailable'), gives(message(1))))
  for await (const received of bridgeAt(url).listen()) {
    expect(received.sequence).toBe(1)
    break
  }
})

test('with a stored session a node may die during the first poll, which it held for seconds', async () => {
  const monotonicMs = movableMs()
  const holds: Answer = (_heard, _nth, response) => {
    monotonicMs.advance(2000)
    response.socket?.destroy()
  }
  const { url, heard } = await node(inTurn(holds, breaks, gives(), gives(message(1))))
  for await (const received of bridgeAt(url, { monotonicMs, clock: clockOf(monotonicMs) }).listen()) {
    expect(received.sequence).toBe(1)
    break
  }
  expect(heard).toHaveLength(4)
})

test('an address that lets no session start is an immediate error, also after seconds', async () => {
  const monotonicMs = movableMs()
  const { url, heard } = await node((_heard, _nth, response) => {
    monotonicMs.advance(2000)
    response.socket?.destroy()
  })
  const bridge = bridgeAt(url, { monotonicMs, clock: clockOf(monotonicMs), sessions: undefined })
  await expect(bridge.listen().next()).rejects.toMatchObject({ code: 'unreachable' })
  expect(heard).toHaveLength(1)
})

test.each([
  ['a full node', refuses(503, 'capacity_reached')],
  ['another open wait', refuses(429, 'wait_limit', { retry_after_ms: 1000 })],
  ['a proxy page', (_heard, _nth, response) => void response.writeHead(404).end('starting')],
] satisfies [string, Answer][])('%s passes', async (_what, answer) => {
  const { url } = await node(inTurn(gives(), answer, answer, answer, answer, answer, gives(message(1))))
  for await (const received of bridgeAt(url).listen()) {
    expect(received.sequence).toBe(1)
    break
  }
})

test.each([
  [401, 'credential_revoked'],
  [409, 'session_fenced'],
  [403, 'agent_disabled'],
  [410, 'project_archived'],
])('%i %s ends listening permanently', async (status, code) => {
  const { url, heard } = await node(inTurn(gives(), refuses(status, code)))
  const pages = bridgeAt(url).pages()
  await pages.next()
  await expect(pages.next()).rejects.toMatchObject({ code })
  expect(heard).toHaveLength(2)
})

test('a rate refusal is retried, and a lasting one is reported, because it may hide a permanent refusal', async () => {
  const limited = refuses(429, 'rate_limited', { retry_after_ms: 60_000 })
  const some = Array.from({ length: 9 }, () => limited)
  const passing = await node(inTurn(gives(), ...some, gives(), ...some, gives(message(1))))
  for await (const received of bridgeAt(passing.url).listen()) {
    expect(received.sequence).toBe(1)
    break
  }
  const staying = await node((heard, nth, response) => (nth === 1 ? gives() : limited)(heard, nth, response))
  const pages = bridgeAt(staying.url).pages()
  await pages.next()
  await expect(pages.next()).rejects.toMatchObject({ code: 'rate_limited' })
  expect(staying.heard).toHaveLength(11)
})

test('listening ends at its time limit without waiting longer', async () => {
  const clock = testClock()
  clock.hold()
  const { url, heard } = await node((_heard, nth, response) => {
    clock.advance(15)
    gives(message(nth))(_heard, nth, response)
  })
  const until = new Date(clock().getTime() + 25_000)
  const pages: ReceivedPage[] = []
  for await (const one of bridgeAt(url, { clock, monotonicMs: clock.elapsedMs }).pages({ until }))
    pages.push(one)
  expect(pages).toHaveLength(2)
  expect(heard.map(({ url: target }) => target)).toEqual([
    '/api/v1/inbox?wait_seconds=20',
    expect.stringMatching(/wait_seconds=(9|10)$/),
  ])
})

test.each([
  [{ idle_seconds: null, empty_polls: 2 }, 3],
  [{ idle_seconds: 45, empty_polls: null }, 4],
])("the owner's policy %j ends listening", async (policy, polls) => {
  const clock = testClock()
  clock.hold()
  // The first page contains a message, so the counted time starts after it.
  const { url, heard } = await node((_heard, nth, response) => {
    clock.advance(20)
    answerJson(response, 200, nth === 1 ? page(message(1)) : page())
  })
  const sessions = sharedSessions({ ...startedSession, policy })
  for await (const _ of bridgeAt(url, { clock, monotonicMs: clock.elapsedMs, sessions }).pages());
  expect(heard).toHaveLength(polls)
})

test('an abort ends a wait and a pause', async () => {
  const stop = new AbortController()
  const { url } = await node(() => setImmediate(() => stop.abort()))
  await expect(bridgeAt(url).listen({ signal: stop.signal }).next()).rejects.toMatchObject({
    code: 'aborted',
  })

  const pausing = new AbortController()
  const broken = await node(inTurn(gives(), breaks, breaks, breaks, breaks))
  const bridge = bridgeAt(broken.url, {
    sleep: async (_ms, signal) => {
      pausing.abort()
      signal?.throwIfAborted()
    },
  })
  const pages = bridge.pages({ signal: pausing.signal })
  await pages.next()
  await expect(pages.next()).rejects.toMatchObject({ name: 'LocalError', code: 'aborted' })
})
