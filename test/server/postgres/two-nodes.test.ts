/** Two server processes on one database tell each other what changed. Runs with `BRIDGE_TEST_STORE=postgres`. */

import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Connection as Seen } from '../../../sdk/contract/presence.ts'
import { enroll } from '../../support/agent.ts'
import { agentAt, ownerAt, startTwoNodes, type TwoNodes, untilPeers } from '../../support/nodes.ts'
import { isOnPostgres, onDatabase } from '../../support/postgres.ts'
import { openEvents, openPolls } from '../../support/streams.ts'
import { expectInTries, medianOf } from '../../support/tries.ts'
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
    const wakeMs = async () => {
      const wait = openWait(there)
      await new Promise((resolve) => setTimeout(resolve, 30))
      const { id } = await ada.send(conversation, ben.id, 'wake')
      const sentMs = performance.now()
      expect((await wait.answer)?.body.messages?.map((each) => each.id)).toEqual([id])
      const tookMs = performance.now() - sentMs
      await there.acknowledge(id)
      return tookMs
    }
    // The backstop alone needs half a second on average.
    await expectInTries(() => medianOf(10, wakeMs), 250)
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

  const seenAt = async ({ url }: { url: string }, agentId: string) => {
    const target = `/api/admin/projects/${nodes.project.id}/agents/${agentId}`
    const found = await ownerAt({ url }, nodes.owner).ok<{ connection: Seen }>({ target })
    const { connected, listening_now, next_contact } = found.connection
    return { connected, listening_now, kind: next_contact.kind }
  }
  const both = (agentId: string) =>
    Promise.all([nodes.first, nodes.second].map((node) => seenAt(node, agentId)))

  test('an agent that listens at one node listens at the other, until its listening runs out', async () => {
    const { owner, project, second } = nodes
    const { id } = await owner.createAgent(project.id, 'cleo')
    const cleo = await enroll(nodes.first.url, await owner.enrollmentCode(project.id, id), () => new Date())
    await cleo.startSession()
    const stream = openEvents(agentAt(second, cleo))
    await stream.opened
    const listening = { connected: true, listening_now: true, kind: 'listening' }
    await expect.poll(() => both(id), { interval: 20 }).toEqual([listening, listening])
    const closedMs = performance.now()
    stream.close()
    await stream.ended
    const silent = { connected: true, listening_now: false, kind: 'unknown' }
    let lastListeningMs = 0
    const look = async () => {
      const askedMs = performance.now() - closedMs
      const seen = await both(id)
      if (seen.some(({ listening_now }) => listening_now)) lastListeningMs = askedMs
      return seen
    }
    await expect.poll(look, { interval: 50 }).toEqual([silent, silent])
    // Five seconds of grace at the node itself. The other one learns of the end within a second.
    expect(lastListeningMs).toBeLessThan(7000)
    await nodes.owner.ok({
      target: `/api/admin/projects/${project.id}/agents/${id}/state`,
      body: { state: 'disabled' },
    })
    const gone = { connected: false, listening_now: false, kind: 'unknown' }
    expect(await both(id)).toEqual([gone, gone])
  })

  test.each(['was suspended', 'runs'] as const)(
    'an agent listens again at a node that the others had counted as ended, although it %s',
    async (how) => {
      const { ben, first, second } = nodes
      const stream = openEvents(agentAt(second, ben))
      await stream.opened
      const listeningAt = async (node: { url: string }) => (await seenAt(node, ben.id)).listening_now
      await expect.poll(() => listeningAt(first)).toBe(true)
      const hasBeaten = async () => {
        const text = "SELECT FROM nodes WHERE pid = $1 AND seen_at > clock_timestamp() - interval '5 s'"
        return onDatabase(
          first.data,
          async (client) => (await client.query(text, [second.pid])).rowCount === 1,
        )
      }
      if (how === 'was suspended') process.kill(second.pid, 'SIGSTOP')
      try {
        await expect
          .poll(async () => {
            // A step of the clock of the database does the same to a node that runs.
            await onDatabase(first.data, (client) =>
              client.query("UPDATE nodes SET seen_at = seen_at - interval '11 s' WHERE pid = $1", [
                second.pid,
              ]),
            )
            return listeningAt(first)
          })
          .toBe(false)
      } finally {
        process.kill(second.pid, 'SIGCONT')
      }
      // The last change may follow a beat that the first node has seen. Only the next beat undoes it.
      await expect.poll(hasBeaten).toBe(true)
      await expect.poll(() => listeningAt(first)).toBe(true)
      expect(stream.events.some(({ type }) => type === 'end')).toBe(false)
      stream.close()
      await stream.ended
    },
  )

  test('a wait of which a node could tell nobody shows at the other node', async () => {
    const { owner, project, first, second } = nodes
    const { id } = await owner.createAgent(project.id, 'dora')
    const change = (text: string, values: readonly unknown[]) =>
      onDatabase(first.data, async (client) => (await client.query(text, [...values])).rowCount)
    expect((await seenAt(first, id)).listening_now).toBe(false)
    const row = `INSERT INTO listeners (node_id, agent_id, project_id, waiting, listening, since)
      SELECT id, $1, $2, 1, 1, $3 FROM nodes WHERE pid = $4`
    await change(row, [id, project.id, new Date().toISOString(), second.pid])
    await expect.poll(async () => (await seenAt(first, id)).listening_now).toBe(true)
    await change('DELETE FROM listeners WHERE agent_id = $1', [id])
    await expect.poll(async () => (await seenAt(first, id)).listening_now).toBe(false)
  })

  test('repeated long-polls are stored once, and the owner counts as connected at both nodes', async () => {
    const { ben, second, first, ada } = nodes
    const there = agentAt(second, ben)
    const rowOf = () =>
      onDatabase(first.data, async (client) => {
        const { rows } = await client.query<{ xmin: string; listening: string }>(
          'SELECT xmin, listening FROM listeners WHERE agent_id = $1',
          [ben.id],
        )
        return rows
      })
    const poll = openPolls(there)
    await expect.poll(async () => (await rowOf()).map(({ listening }) => Number(listening))).toEqual([1])
    let sent = 0
    // A pause of most of a second between two polls is stored. A machine that stands still gets another try.
    const rowAfterRounds = async () => {
      const before = await rowOf()
      for (let round = 0; round < 3; round += 1) {
        const { id } = await ada.send(conversation, ben.id, `again ${sent}`)
        sent += 1
        await poll.messages(sent)
        await there.acknowledge(id)
      }
      await new Promise((resolve) => setTimeout(resolve, 600))
      return isDeepStrictEqual(await rowOf(), before)
    }
    await expect.poll(rowAfterRounds).toBe(true)
    poll.close()
    const asked = await there.ok<{ recipient: { connection: { connected: boolean } } }>({
      target: '/api/v1/messages',
      body: {
        ...{ conversation_id: await there.conversationWith(ben.id), recipient_agent_id: ben.id },
        ...{ type: 'note', body: 'are you there?' },
      },
    })
    expect(asked.recipient.connection.connected).toBe(true)
  })

  test("a commit at one node ends the owner's wait for events at the other", async () => {
    const { owner, project, ada, ben, second } = nodes
    const there = ownerAt(second, owner)
    const events = (query: string) =>
      there.ok<{ events: { kind: string }[]; next_after: string }>({
        target: `/api/admin/projects/${project.id}/events?${query}`,
      })
    const wakeMs = async () => {
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
      return performance.now() - sentMs
    }
    // A view without a notice reads every two seconds.
    await expectInTries(() => medianOf(5, wakeMs), 400)
  })
})
