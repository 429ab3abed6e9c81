/** The clock of the database is set while two nodes serve: neither counts the other one as ended. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { closeNodes, readNodes, startNodes } from '../../support/cluster-nodes.ts'
import { agentAt } from '../../support/nodes.ts'
import { postgresOnly } from '../../support/one-store.ts'
import { type People, settlePeople } from '../../support/people.ts'
import { Cluster, hasPostgres } from '../../support/postgres-cluster.ts'
import type { ServerProcess } from '../../support/process.ts'
import { clockThatCanBeSet } from '../lab/cluster/set-clock.ts'

postgresOnly()

const hourMs = 3_600_000
/** Two beats of each node, and more. */
const watchMs = 6000

describe.skipIf(!hasPostgres)('two nodes whose database has a set clock', () => {
  let cluster: Cluster
  let nodes: ServerProcess[] = []
  let people: People

  beforeAll(async () => {
    cluster = await Cluster.start()
    await cluster.query(clockThatCanBeSet)
    nodes = await startNodes(cluster, 2)
    people = await settlePeople(nodes[0] as ServerProcess, { message_budget: 1_000_000 })
  })
  afterAll(async () => {
    await closeNodes(nodes)
    await cluster?.close()
  })

  test.each([hourMs, -hourMs])(
    'refuse nothing for it and stay the same nodes (%d ms)',
    async (aheadMs) => {
      const ids = async () => (await readNodes(cluster)).map(({ id }) => id)
      const before = await ids()
      await cluster.query("UPDATE shim.clock SET ahead = $1 * interval '1 ms'", [aheadMs])
      const clock = () => new Date(Date.now() + aheadMs)
      const answers = new Map<string, number>()
      const endsMs = performance.now() + watchMs
      while (performance.now() < endsMs) {
        for (const [index, node] of nodes.entries()) {
          const { status, text } = await agentAt(node, people.ben, clock).call({ target: '/api/v1/peers' })
          const answer =
            status === 200 ? '200' : `${index}: ${status} ${(JSON.parse(text) as { error: string }).error}`
          answers.set(answer, (answers.get(answer) ?? 0) + 1)
        }
        await sleep(10)
      }
      expect([...answers.keys()].filter((each) => each.includes('503'))).toEqual([])
      expect(await ids()).toEqual(before)
      await cluster.query("UPDATE shim.clock SET ahead = '0'")
      await sleep(watchMs)
    },
    30_000,
  )
})
