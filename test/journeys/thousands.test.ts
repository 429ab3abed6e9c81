/**
 * Fifty agents exchange messages over all three transports while connections break, sessions end, and the
 * server is restarted twice. No message is lost, the order of each conversation is kept, and no message is
 * offered after its acknowledgement.
 *
 * Every run has a thousand messages; `BRIDGE_MESSAGES=100000` is the full figure.
 */
import { randomInt } from 'node:crypto'
import { expect, test } from 'vitest'
import { enroll, type TestAgent } from '../support/agent.ts'
import { setUpOwner } from '../support/owner.ts'
import { type ServerProcess, startServerProcess } from '../support/process.ts'
import { type Delivered, messagesOf, type OpenStream, transports } from '../support/streams.ts'

const total = Number(process.env.BRIDGE_MESSAGES ?? 1000)
const people = 50

interface Heard {
  /** A map from conversation to the sequences in the order of their first offers. */
  readonly firsts: Map<string, number[]>
  readonly bodies: Set<string>
  /** A map from message id to the time at which the server answered the acknowledgement. */
  readonly acknowledged: Map<string, number>
  readonly late: string[]
}

test(`${total} messages among ${people} agents arrive complete and in order`, async () => {
  const server = await startServerProcess()
  const agents = await company(server)
  const began = performance.now()
  let sent = 0
  let talking = true
  const listeners = agents.map((agent) => listener(agent, () => talking))
  const speaking = Promise.all(
    agents.map(async (agent, index) => {
      for (let n = 0; n < total / people; n += 1) {
        const peer = agents[(index + 1 + (n % 7)) % people] as TestAgent
        await say(agent, peer, `${index} ${n}`)
        sent += 1
      }
    }),
  )
  for (const [share, signal] of [
    [1 / 3, 'SIGKILL'],
    [2 / 3, 'SIGTERM'],
  ] as const) {
    while (sent < total * share) await pause(20)
    await server.kill(signal)
    await server.start()
  }
  await speaking
  const expected = expectations(agents)
  const missing = () =>
    listeners.map(({ heard }, n) => expected[n]?.filter((each) => !heard.bodies.has(each)) ?? [])
  const deadline = performance.now() + 60_000
  while (missing().flat().length > 0 && performance.now() < deadline) await pause(50)
  talking = false
  await Promise.all(listeners.map(({ done }) => done))
  const seconds = (performance.now() - began) / 1000
  process.stdout.write(
    `${sent} messages in ${seconds.toFixed(1)} s: ${Math.round(sent / seconds)} a second\n`,
  )
  await server.close()

  expect(missing().flat()).toEqual([])
  for (const { heard } of listeners) {
    expect(heard.late).toEqual([])
    for (const sequences of heard.firsts.values()) {
      expect(sequences).toEqual([...sequences].sort((a, b) => a - b))
    }
  }
}, 900_000)

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

async function company(server: ServerProcess): Promise<TestAgent[]> {
  const owner = await setUpOwner(server.url, server.setupLink)
  const project = await owner.createProject('company', { policy: { message_budget: 1_000_000 } })
  const agents: TestAgent[] = []
  for (let n = 0; n < people; n += 1) {
    const { id } = await owner.createAgent(project.id, `agent ${n}`)
    const code = await owner.enrollmentCode(project.id, id)
    const agent = await enroll(server.url, code, () => new Date())
    await agent.startSession()
    agents.push(agent)
  }
  return agents
}

/** Returns the messages that each agent must receive, from the plan of the senders. */
function expectations(agents: readonly TestAgent[]): string[][] {
  const plan = agents.map((): string[] => [])
  for (let index = 0; index < people; index += 1) {
    for (let n = 0; n < total / people; n += 1) plan[(index + 1 + (n % 7)) % people]?.push(`${index} ${n}`)
  }
  return plan
}

const conversations = new Map<string, string>()

/** Sends a text until the server confirms that it is stored; the key makes it one message. */
async function say(from: TestAgent, to: TestAgent, text: string): Promise<void> {
  const pair = [from.id, to.id].sort().join()
  const key = crypto.randomUUID()
  for (;;) {
    try {
      const known = conversations.get(pair) ?? (await from.conversationWith(to.id))
      conversations.set(pair, known)
      await from.send(known, to.id, text, key)
      return
    } catch (error) {
      if (!isPassing(error)) throw error
      await pause(20)
    }
  }
}

/** The server is stopped or restarting, or the listener has replaced the session. */
const isPassing = (error: unknown) => /ECONN|socket hang up|EPIPE|503|409/.test(String(error))

function listener(agent: TestAgent, goesOn: () => boolean) {
  const heard: Heard = { firsts: new Map(), bodies: new Set(), acknowledged: new Map(), late: [] }
  const done = (async () => {
    while (goesOn()) {
      const [, open] = transports[randomInt(transports.length)] ?? transports[0] ?? []
      if (open === undefined) return
      const stream = open(agent)
      await attend(agent, stream, heard, goesOn, 1 + randomInt(40))
      stream.close()
      // Messages in flight to the broken connection are offered to the next session.
      await renew(agent)
    }
  })()
  return { heard, done }
}

/** Reads batches until the connection ends or is broken off in the middle. */
async function attend(
  agent: TestAgent,
  stream: OpenStream,
  heard: Heard,
  goesOn: () => boolean,
  batches: number,
): Promise<void> {
  let ended = false
  void stream.ended.then(() => {
    ended = true
  })
  let taken = 0
  let idleSince = performance.now()
  while (goesOn() && taken < batches && performance.now() - idleSince < 5000) {
    const batch = stream.events.filter(({ type }) => type === 'messages')[taken]
    if (batch === undefined) {
      if (ended) return
      await pause(5)
      continue
    }
    taken += 1
    idleSince = performance.now()
    const messages = messagesOf(batch)
    for (const message of messages) note(heard, message, batch.atMs)
    await acknowledge(agent, heard, messages)
  }
}

function note(
  heard: Heard,
  { id, body, conversation_id, sequence, delivery }: Delivered,
  atMs: number,
): void {
  // A copy sent before the acknowledgement may be read shortly after its answer.
  const acknowledged = heard.acknowledged.get(id)
  if (acknowledged !== undefined && atMs > acknowledged + 250) heard.late.push(body)
  // A killed server had no time to store its last offers.
  const again = delivery.attempt > 1 || heard.bodies.has(body)
  heard.bodies.add(body)
  if (again) return
  heard.firsts.set(conversation_id, [...(heard.firsts.get(conversation_id) ?? []), sequence])
}

async function acknowledge(agent: TestAgent, heard: Heard, messages: readonly Delivered[]): Promise<void> {
  try {
    await agent.acknowledge(...messages.map(({ id }) => id))
    for (const { id } of messages) heard.acknowledged.set(id, performance.now())
  } catch (error) {
    if (!isPassing(error)) throw error
  }
}

async function renew(agent: TestAgent): Promise<void> {
  for (;;) {
    try {
      await agent.call({ target: '/api/v1/sessions/current/close', body: {}, key: null })
      await agent.startSession()
      return
    } catch (error) {
      if (!isPassing(error)) throw error
      await pause(20)
    }
  }
}
