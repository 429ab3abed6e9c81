/**
 * How many statements reach PostgreSQL for a request in a full group, with and without merging. Runs with
 * `BRIDGE_TEST_STORE=postgres`.
 */
import { describe, expect, test } from 'vitest'
import { limits } from '../../../sdk/contract/limits.ts'
import type { TestAgent } from '../../support/agent.ts'
import type { Counted } from '../../support/counted.ts'
import { isOnPostgres, onDatabase } from '../../support/postgres.ts'
import { atOnce, counted, onServer, pairs, sendsEach, spread, toOne } from '../../support/statement-counts.ts'

const off = { merge_statements: 'off' }

interface Task {
  readonly id: string
  readonly state: string
  readonly claim: { readonly generation: number; readonly session_generation: number } | null
}

/** Runs whole tasks between two agents, each step in one group. Returns the statements of each step. */
async function wholeTasks(world: Counted): Promise<Record<string, number>> {
  const [creator, worker] = world.people as [TestAgent, TestAgent]
  const found: Record<string, number> = {}
  const step = async (
    name: string,
    agent: TestAgent,
    calls: readonly { target: string; body?: object }[],
  ) => {
    const requests = calls.map((call) => async () => {
      const reply = await agent.call(call)
      expect([name, reply.status, reply.text]).toEqual([name, 200, reply.text])
      return reply.json as Task
    })
    const { each, answers } = await counted(world, requests)
    found[name] = each
    return answers
  }
  const on = (tasks: readonly Task[], verb: string, body: (task: Task) => object = () => ({})) =>
    tasks.map((task) => ({ target: `/api/v1/tasks/${task.id}/${verb}`, body: body(task) }))
  // The first rounds tell the node the types of the parameters.
  for (let round = 0; round < 3; round += 1) {
    const input = { assignee_agent_id: worker.id, title: 'Count the lines', instructions: 'of README.md' }
    const calls = Array.from({ length: atOnce }, () => ({ target: '/api/v1/tasks', body: input }))
    const created = await step('create', creator, calls)
    const claimed = await step('claim', worker, on(created, 'claim'))
    const claims = new Map(claimed.map(({ id, claim }) => [id, claim]))
    const held = ({ id }: Task) => {
      const claim = claims.get(id)
      return { claim_generation: claim?.generation, session_generation: claim?.session_generation }
    }
    await step(
      'progress',
      worker,
      on(created, 'progress', (task) => ({ ...held(task), percent: 50 })),
    )
    await step('renew', worker, on(created, 'renew', held))
    await step(
      'read',
      creator,
      created.map(({ id }) => ({ target: `/api/v1/tasks/${id}` })),
    )
    const half = atOnce / 2
    const result = { result: '90', evidence: [{ kind: 'text', value: 'seen' }] }
    const completed = on(created.slice(0, half), 'complete', (task) => ({ ...held(task), ...result }))
    await step('complete', worker, completed)
    await step('cancel', creator, on(created.slice(half), 'cancel'))
    await step('stopped', worker, on(created.slice(half), 'stopped', held))
  }
  return found
}

describe.skipIf(!isOnPostgres)('in a full group', () => {
  test('a send takes at most two statements', async () => {
    const merged = await onServer(pairs, (world) => sendsEach(world, spread(world)))
    const unmerged = await onServer({ ...pairs, settings: off }, (world) => sendsEach(world, spread(world)))
    expect(merged).toBeLessThanOrEqual(2)
    expect(unmerged).toBeGreaterThan(2 * merged)
  })

  test('a send takes no more statements if all of them go to one inbox', async () => {
    const star = { agents: atOnce + 1, senders: 1 }
    expect(await onServer(star, (world) => sendsEach(world, toOne(world)))).toBeLessThanOrEqual(2)
  })

  test('each step of a task between two agents takes at most four statements', async () => {
    const pair = { agents: 2, senders: 1 }
    const merged = await onServer(pair, wholeTasks)
    const unmerged = await onServer({ ...pair, settings: off }, wholeTasks)
    for (const [step, each] of Object.entries(merged)) {
      expect([step, each]).toSatisfy(() => each <= 4)
      expect([step, unmerged[step]]).toSatisfy(() => (unmerged[step] ?? 0) > each)
    }
  })

  test('senders fill an inbox to exactly its limit', async () => {
    const star = { agents: atOnce + 1, senders: 1 }
    const room = 10
    await onServer(star, async (world) => {
      const { data, people, conversations } = world
      const [recipient, ...senders] = people as [TestAgent, ...TestAgent[]]
      const sends = senders.map((sender, index) => () => {
        const body = { recipient_agent_id: recipient.id, type: 'note', body: 'hello' }
        const conversation_id = conversations[index + 1]
        return sender.call({ target: '/api/v1/messages', body: { conversation_id, ...body } })
      })
      for (let round = 0; round < 2; round += 1) await Promise.all(sends.map((send) => send()))
      await onDatabase(data, (client) =>
        client.query('UPDATE inboxes SET waiting = $1', [limits.inboxUnacknowledged - room]),
      )
      const { each, answers } = await counted(world, sends)
      expect(answers.map(({ status }) => status).sort()).toEqual([
        ...Array.from({ length: room }, () => 200),
        ...Array.from({ length: atOnce - room }, () => 503),
      ])
      const refused = answers.filter(({ status }) => status !== 200)
      for (const { json } of refused)
        expect(json).toMatchObject({ error: 'capacity_reached', details: { limit: 'inbox' } })
      // The refused ones write nothing, so the group does not run again.
      expect(each).toBeLessThanOrEqual(2)
      await onDatabase(data, async (client) => {
        const { rows } = await client.query('SELECT waiting::int AS waiting FROM inboxes')
        expect(rows).toEqual([{ waiting: limits.inboxUnacknowledged }])
        const stored = await client.query('SELECT count(*)::int AS count FROM messages')
        expect(stored.rows).toEqual([{ count: 2 * atOnce + room }])
      })
    })
  })
})
