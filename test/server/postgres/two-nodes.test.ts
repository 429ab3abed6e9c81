/** Two server processes on one database tell each other what changed. Runs with `BRIDGE_TEST_STORE=postgres`. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { agentAt, ownerAt, startTwoNodes, type TwoNodes, untilPeers } from '../../support/nodes.ts'
import { isOnPostgres } from '../../support/postgres.ts'
import { openEvents } from '../../support/streams.ts'
import { openWait } from '../../support/waits.ts'

describe.skipIf(!isOnPostgres)('two nodes on one database', () => {
  let nodes: TwoNodes
  let conversation: string
  beforeAll(async () => {
    nodes = await startTwoNodes()
    await Promise.all([untilPeers(nodes.first, 'notified'), untilPeers(nodes.second, 'notified')])
    conversation = await nodes.ada.conversationWith(nodes.ben.id)
  })
  afterAll(() => nodes?.close())

  test('a message at one node wakes the wait at the other at once', async () => {
    const { ada, ben, second } = nodes
    const there = agentAt(second, ben)
    const tookMs: number[] = []
    for (let round = 0; round < 10; round += 1) {
      const wait = openWait(there)
      await new Promise((resolve) => setTimeout(resolve, 30))
      const { id } = await ada.send(conversation, ben.id, `round ${round}`)
      const sentMs = performance.now()
      expect((await wait.answer)?.body.messages?.map((each) => each.id)).toEqual([id])
      tookMs.push(performance.now() - sentMs)
      await there.acknowledge(id)
    }
    // The backstop alone needs half a second on average.
    expect(tookMs.toSorted((one, other) => one - other)[5]).toBeLessThan(100)
  })

  test('a receipt reaches the stream of the sender at the other node', async () => {
    const { ada, ben, second } = nodes
    const stream = openEvents(agentAt(second, ada))
    await stream.opened
    const { id } = await ada.send(conversation, ben.id, 'a receipt')
    await ben.acknowledge(id)
    expect(await stream.take('receipts')).toMatchObject({ receipts: [{ message_id: id }] })
    stream.close()
    await stream.ended
  })

  test("a commit at one node ends the owner's wait for events at the other", async () => {
    const { owner, project, ada, ben, second } = nodes
    const there = ownerAt(second, owner)
    const events = (query: string) =>
      there.ok<{ events: { kind: string }[]; next_after: string }>({
        target: `/api/admin/projects/${project.id}/events?${query}`,
      })
    const tookMs: number[] = []
    for (let round = 0; round < 5; round += 1) {
      let last = await events('limit=100')
      while (last.events.length > 0) last = await events(`limit=100&after=${last.next_after}`)
      const query = `after=${last.next_after}&wait_seconds=20&kind=message.sent`
      // A change of presence ends a wait too.
      const next = async (): Promise<void> => ((await events(query)).events.length > 0 ? undefined : next())
      const waiting = next()
      await new Promise((resolve) => setTimeout(resolve, 100))
      await ada.send(conversation, ben.id, 'for the view')
      const sentMs = performance.now()
      await waiting
      tookMs.push(performance.now() - sentMs)
    }
    // A view without a notice reads every two seconds.
    expect(tookMs.toSorted((one, other) => one - other)[2]).toBeLessThan(400)
  })
})
