/**
 * The owner denies something at one node while agents act at another: nothing succeeds that began after the
 * owner's answer, and open waits end. Runs with `BRIDGE_TEST_STORE=postgres`; `BRIDGE_DENIALS=500` makes it
 * longer.
 */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { TestAgent } from '../../support/agent.ts'
import { agentAt, startTwoNodes, type TwoNodes, untilPeers } from '../../support/nodes.ts'
import { databaseUrl, isOnPostgres } from '../../support/postgres.ts'
import { openWait, soon } from '../../support/waits.ts'
import { hasPooler, type Pooler, startPooler } from './pooler.ts'

const long = process.env.BRIDGE_DENIALS
const rounds = Number(long ?? 30)

interface Denial {
  readonly name: string
  /** Whether it ends open waits. */
  readonly ends: boolean
  set(nodes: TwoNodes, isDenied: boolean): Promise<unknown>
}

const call = ({ owner, project }: TwoNodes, path: string, body: object) =>
  owner.ok({ target: `/api/admin/projects/${project.id}/${path}`, body })

const denials: readonly Denial[] = [
  {
    name: 'disabled',
    ends: true,
    set: (nodes, isDenied) =>
      call(nodes, `agents/${nodes.ben.id}/state`, { state: isDenied ? 'disabled' : 'enabled' }),
  },
  {
    name: 'paused',
    ends: false,
    set: (nodes, isDenied) => call(nodes, 'state', { state: isDenied ? 'paused' : 'active' }),
  },
  {
    name: 'unpaired',
    ends: false,
    set: (nodes, isDenied) =>
      call(nodes, 'pairings', { agent_ids: [nodes.ada.id, nodes.ben.id], enabled: !isDenied }),
  },
]

interface Flow {
  /** When each success began. */
  readonly begun: number[]
  isOver(): boolean
}

/** Sends at the node without a pause until the owner has the answer and a request was refused. */
async function traffic(nodes: TwoNodes, there: TestAgent, conversation: string, { begun, isOver }: Flow) {
  let refused = 0
  while (!isOver() || refused === 0) {
    const body = {
      ...{ conversation_id: conversation, recipient_agent_id: nodes.ada.id },
      ...{ type: 'note', body: 'traffic' },
    }
    const beganMs = performance.now()
    const { status } = await there.call({ target: '/api/v1/messages', body })
    if (status === 200) begun.push(beganMs)
    else refused += 1
    // Without a refusal after the answer, the check of the successes fails.
    if (isOver() && begun.length > 200) break
  }
}

async function deny(nodes: TwoNodes, denial: Denial, conversation: string) {
  const there = agentAt(nodes.second, nodes.ben)
  const wait = openWait(there)
  const endedMs = wait.answer.then((found) => ({ status: found?.status, atMs: performance.now() }))
  let answeredMs = Number.POSITIVE_INFINITY
  const successes: number[] = []
  const flow = { begun: successes, isOver: () => performance.now() > answeredMs }
  const flows = [1, 2].map(() => traffic(nodes, there, conversation, flow))
  // The control: there is traffic that the denial stops.
  await vi.waitFor(() => expect(successes.length).toBeGreaterThanOrEqual(4), { ...soon, interval: 5 })
  await denial.set(nodes, true)
  answeredMs = performance.now()
  await Promise.all(flows)
  const late = successes.filter((beganMs) => beganMs > answeredMs)
  const ended = denial.ends ? await endedMs : undefined
  if (ended === undefined) await wait.leave()
  await denial.set(nodes, false)
  if (denial.ends) {
    await nodes.ben.startSession(randomUUID())
  }
  return { late, ended, tookMs: (ended?.atMs ?? answeredMs) - answeredMs }
}

const quantile = (values: readonly number[], part: number): number =>
  values.toSorted((one, other) => one - other)[Math.ceil(values.length * part) - 1] ?? Number.NaN

describe.skipIf(!isOnPostgres)('a denial at one node', () => {
  let nodes: TwoNodes
  let conversation: string
  beforeAll(async () => {
    nodes = await startTwoNodes()
    await Promise.all([untilPeers(nodes.first, 'notified'), untilPeers(nodes.second, 'notified')])
    conversation = await nodes.ada.conversationWith(nodes.ben.id)
  })
  afterAll(() => nodes?.close())

  test.each(denials.map((each) => [each.name, each] as const))(
    'lets nothing that begins later succeed at the other: %s',
    async (_name, denial) => {
      const took: number[] = []
      for (let round = 0; round < rounds / denials.length; round += 1) {
        const { late, ended, tookMs } = await deny(nodes, denial, conversation)
        expect(late).toEqual([])
        if (denial.ends) expect(ended?.status).toBe(403)
        took.push(tookMs)
      }
      // The longer form has enough rounds for the last hundredth.
      expect(quantile(took, long === undefined ? 0.5 : 0.99)).toBeLessThan(100)
    },
    600_000,
  )
})

describe.skipIf(!isOnPostgres || !hasPooler)('a denial at one node, without notifications', () => {
  let nodes: TwoNodes
  let pooler: Pooler
  let conversation: string
  beforeAll(async () => {
    nodes = await startTwoNodes({
      async second({ data }) {
        pooler = await startPooler(databaseUrl(data), 'transaction')
        return { database: pooler.url }
      },
    })
    await untilPeers(nodes.second, 'polled')
    conversation = await nodes.ada.conversationWith(nodes.ben.id)
  })
  afterAll(async () => {
    await nodes?.close()
    await pooler?.close()
  })

  test('lets nothing that begins later succeed, and ends waits within two seconds', async () => {
    for (let round = 0; round < Math.max(1, rounds / 60); round += 1) {
      for (const denial of denials) {
        const { late, tookMs } = await deny(nodes, denial, conversation)
        expect(late).toEqual([])
        expect(tookMs).toBeLessThan(2000)
      }
    }
  }, 600_000)

  test('a message wakes a wait within a second', async () => {
    const { ada, ben, second } = nodes
    const there = agentAt(second, ben)
    for (let left = await there.inbox(); left.messages.length > 0; left = await there.inbox())
      await there.acknowledge(...left.messages.map(({ id }) => id))
    const wait = openWait(there)
    await new Promise((resolve) => setTimeout(resolve, 100))
    const { id } = await ada.send(conversation, ben.id, 'polled')
    const sentMs = performance.now()
    expect((await wait.answer)?.body.messages?.map((each) => each.id)).toEqual([id])
    expect(performance.now() - sentMs).toBeLessThan(1000)
  })
})
