/**
 * A node that is restarted or killed during listening: no message is lost, and no offer is delivered twice.
 *
 * BRIDGE_KILLS=3 restarts and kills it that often over each transport, instead of once.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import type { Bridge, ListenTransport, ReceivedMessage } from '../../../sdk/index.ts'
import { LocalError } from '../../../sdk/index.ts'
import { enroll, type TestAgent } from '../../support/agent.ts'
import { startBridge } from '../../support/bridge.ts'
import { setUpOwner, type TestOwner } from '../../support/owner.ts'
import { startServerProcess } from '../../support/process.ts'
import { bridgeOf, Ear, sessionsOf } from '../../support/sdk-listener.ts'
import { type TestStore, withStore } from '../../support/test-store.ts'

const rounds = Number(process.env.BRIDGE_KILLS ?? 1)
const limit = { timeout: 300_000 * rounds }

const undo: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each()
})

const every: readonly ListenTransport[] = ['socket', 'sse', 'long-poll']
const offersOf = (messages: readonly ReceivedMessage[]) =>
  messages.map(({ id, delivery }) => `${id} ${delivery.attempt}`)
const texts = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, nth) => `text ${from + nth}`)

describe.each(every)('over %s', (transport) => {
  test('the restart of a node loses no message and delivers no offer twice', limit, async () => {
    let bridge = await startBridge()
    undo.push(() => bridge.close())
    const { ada, owner, project } = bridge
    const client = bridgeOf(ada, { transports: [transport] })
    const ear = new Ear(client)
    undo.push(
      () => client.close(),
      () => ear.stop(),
    )
    const tell = (text: string) => owner.message(project.id, ada.id, text)
    for (let round = 0; round < rounds; round += 1) {
      const first = round * 10 + 1
      for (const text of texts(first, first + 9)) await tell(text)
      bridge = await bridge.restart()
    }
    await tell('the last')
    await ear.heard('the last')
    expect(ear.bodies).toEqual([...texts(1, 10 * rounds), 'the last'])
    expect(new Set(offersOf(ear.messages)).size).toBe(10 * rounds + 1)
    expect(ear.transports[0]).toBe(transport)
  })

  test('a restored node learns again of an acknowledgement that it forgot', limit, async () => {
    let bridge = await startBridge()
    undo.push(() => bridge.close())
    const { ada, data, owner, project } = bridge
    const client = bridgeOf(ada, { transports: [transport] })
    const ear = new Ear(client)
    undo.push(
      () => client.close(),
      () => ear.stop(),
    )
    const tell = (text: string) => owner.message(project.id, ada.id, text)
    await tell('before')
    await ear.heard('before')
    await ear.messages[0]?.acknowledge()
    await bridge.server.stop()
    withStore(data, forgetOffers)
    bridge = await bridge.restart()
    await tell('after')
    await ear.heard('after')
    const unacknowledged = async () => (await client.inbox.list()).messages.map(({ body }) => body)
    // A lost acknowledgement is repeated when the node offers the message again, after a minute.
    await expect.poll(unacknowledged, { timeout: 150_000, interval: 200 }).toEqual(['after'])
    expect(ear.bodies.filter((body) => body === 'before')).toHaveLength(1)
    const waiting = 'SELECT waiting FROM inboxes WHERE agent_id = ?'
    expect(withStore(data, (store) => store.prepare(waiting).pluck().get(ada.id))).toBe(1)
  })
})

/** Sets the messages back to a backup that was made after they were stored and before they were offered. */
function forgetOffers(store: TestStore): void {
  store.exec(`
    UPDATE inboxes SET waiting =
      (SELECT count(*) FROM messages WHERE inbox_agent_id = inboxes.agent_id);
    UPDATE messages SET acknowledged_at = NULL, first_offered_at = NULL, last_offered_at = NULL,
      offers = 0, offered_generation = 0;
  `)
}

/**
 * Starts a node as a process, an owner who retries each message to one agent until it is stored, and that
 * agent.
 */
async function killable() {
  const server = await startServerProcess()
  undo.push(() => server.close())
  const owner = await setUpOwner(server.url, server.setupLink)
  const project = await owner.createProject('demo')
  const { id } = await owner.createAgent(project.id, 'ada')
  const clock = () => new Date()
  const ada = await enroll(server.url, await owner.enrollmentCode(project.id, id), clock)
  await ada.startSession()
  return { server, ada, tell: (text: string) => tellFor(owner, project.id, ada, text) }
}

/** Sends the same message with the same key until the node reports that it is stored. */
async function tellFor(owner: TestOwner, projectId: string, agent: TestAgent, text: string): Promise<void> {
  const call = {
    target: `/api/admin/projects/${projectId}/messages`,
    body: { recipient_agent_id: agent.id, body: text },
    key: randomUUID(),
  }
  for (;;) {
    const status = await owner.call(call).then(
      (reply) => reply.status,
      () => 0,
    )
    if (status === 200) return
    if (status !== 0 && status !== 503) throw new Error(`the owner's message was answered ${status}`)
    await setTimeout(20)
  }
}

/** Listens until all expected messages arrived, and acknowledges each until the node accepts that. */
async function hearAll(
  client: Bridge,
  expected: readonly string[],
  onHeard: () => void,
): Promise<ReceivedMessage[]> {
  const heard: ReceivedMessage[] = []
  const missing = new Set(expected)
  for await (const message of client.listen()) {
    heard.push(message)
    onHeard()
    while (!(await isAcknowledged(message)));
    missing.delete(message.body)
    if (missing.size === 0) break
  }
  return heard
}

const isAcknowledged = (message: ReceivedMessage): Promise<boolean> =>
  message.acknowledge().then(
    () => true,
    (error: unknown) => {
      // The node was unreachable, and the client has already paused between its attempts.
      if (error instanceof LocalError) return false
      throw error
    },
  )

describe.each(['socket', 'sse', 'long-poll'] as const)('the kill of a node, over %s,', (transport) => {
  test('loses no stored message and delivers no offer twice', limit, async () => {
    const { server, ada, tell } = await killable()
    const client = bridgeOf(ada, { transports: [transport], sessions: sessionsOf(ada) })
    undo.push(() => client.close())
    const begun = Promise.withResolvers<void>()
    const ofRounds = Array.from({ length: rounds }, (_, nth) => `round ${nth + 1}`)
    const expected = ['the first', ...texts(1, 10 * rounds), ...ofRounds, 'the last']
    const hearing = hearAll(client, expected, begun.resolve)
    await tell('the first')
    await begun.promise
    for (let round = 1; round <= rounds; round += 1) {
      const sending = (async () => {
        for (const text of texts(round * 10 - 9, round * 10)) await tell(text)
      })()
      await tell(`round ${round}`)
      await server.kill('SIGKILL')
      // Messages offered to a broken connection are due again.
      await server.start({ clockFrom: new Date(Date.now() + round * 61_000) })
      await sending
    }
    await tell('the last')
    const heard = await hearing
    expect(new Set(heard.map(({ body }) => body))).toEqual(new Set(expected))
    expect(new Set(offersOf(heard)).size).toBe(heard.length)
  })
})

test('a node killed during the very first poll loses no message', limit, async () => {
  const { server, ada, tell } = await killable()
  const ear = new Ear(bridgeOf(ada, { transports: ['long-poll'], sessions: sessionsOf(ada) }))
  undo.push(() => ear.stop())
  // A poll that was held for 2 seconds counts as an answer.
  await setTimeout(3000)
  await server.kill('SIGKILL')
  await server.start()
  await tell('after the kill')
  await ear.heard('after the kill')
})
