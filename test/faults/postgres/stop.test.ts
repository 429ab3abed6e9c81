/** A node that gets SIGTERM while its database stands still. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { closeNodes, startNodes } from '../../support/cluster-nodes.ts'
import { postgresOnly } from '../../support/one-store.ts'
import { type People, settlePeople } from '../../support/people.ts'
import { Cluster, hasPostgres } from '../../support/postgres-cluster.ts'
import type { ServerProcess } from '../../support/process.ts'
import { openEvents } from '../../support/streams.ts'

postgresOnly()

/** A request of that time gets its answer within 25 s. */
const stopsWithinMs = 30_000

describe.skipIf(!hasPostgres)('a node whose database stands still', () => {
  let cluster: Cluster
  let node: ServerProcess
  let people: People

  beforeAll(async () => {
    cluster = await Cluster.start()
    ;[node] = await startNodes(cluster, 1)
    people = await settlePeople(node)
  })
  afterAll(async () => {
    cluster?.resume()
    await closeNodes([node].filter(Boolean))
    await cluster?.close()
  })

  test('stops', async () => {
    const stream = openEvents(people.ben)
    await stream.opened
    cluster.pause()
    // The questions of each second wait for an answer.
    await sleep(1500)
    const late = sleep(stopsWithinMs, 'runs', { ref: false })
    expect(await Promise.race([node.kill('SIGTERM').then(() => 'stopped'), late])).toBe('stopped')
  }, 60_000)
})
