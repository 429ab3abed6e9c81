/**
 * One of 64 requests at three nodes at once, with the same setup link, sets up the owner.
 * `BRIDGE_CLUSTER_RACES=500` makes it longer. After each round the owner is removed from the database, which is
 * much cheaper than a new installation with three nodes.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readConfig } from '../../../server/config.ts'
import { issueSetupLink } from '../../../server/host/init.ts'
import { closeNodes, startNodes } from '../../support/cluster-nodes.ts'
import { exchange, type Reply } from '../../support/http.ts'
import { cookieOf, ownerPassword, TestOwner } from '../../support/owner.ts'
import { Cluster } from '../../support/postgres-cluster.ts'
import type { ServerProcess } from '../../support/process.ts'
import { lacking, longestMs } from '../lab/cluster/harness.ts'

const rounds = Number(process.env.BRIDGE_CLUSTER_RACES ?? 4)
const clients = 64

const told = ({ status, json }: Reply): string =>
  status === 200 ? 'done' : `${status} ${(json as { error: string }).error}`

describe.skipIf(lacking !== '')(`the setup link at three nodes at once ${lacking}`, () => {
  let cluster: Cluster
  let nodes: ServerProcess[] = []
  beforeAll(async () => {
    cluster = await Cluster.start()
    nodes = await startNodes(cluster, 3)
  })
  afterAll(async () => {
    await closeNodes(nodes)
    await cluster?.close()
  })

  const setUp = ({ url }: ServerProcess, token: string, name: string): Promise<Reply> =>
    exchange(url, {
      method: 'POST',
      target: '/api/admin/setup',
      headers: [
        ['Origin', url],
        ['Content-Type', 'application/json'],
      ],
      body: JSON.stringify({ token, name, password: ownerPassword }),
    })
  const newLink = (): Promise<string> =>
    issueSetupLink(readConfig({ data: nodes[0]?.data ?? '', database: cluster.url }, {}))

  test(
    'one of 64 requests sets up the owner, and every node knows it',
    async () => {
      for (let round = 0; round < rounds; round += 1) {
        if (round > 0) await cluster.query('TRUNCATE owner_users CASCADE')
        const token = new URL(await newLink()).hash.slice(1)
        const replies = await Promise.all(
          Array.from({ length: clients }, (_, index) =>
            setUp(nodes[index % nodes.length] as ServerProcess, token, `olu ${index}`),
          ),
        )
        const winners = replies.filter(({ status }) => status === 200)
        expect(winners).toHaveLength(1)
        const refused = replies.filter(({ status }) => status !== 200).map(told)
        // A node has a short queue of passwords to hash, and answers 429 beyond it.
        const others = ['410 setup_done', '429 rate_limited']
        expect(refused.filter((each) => !others.includes(each))).toEqual([])
        for (const node of nodes) expect(told(await setUp(node, token, 'late'))).toBe('410 setup_done')
        for (const { url } of nodes) {
          const owner = new TestOwner(url, cookieOf(winners[0] as Reply))
          expect((await owner.call({ target: '/api/admin/session' })).status).toBe(200)
        }
        const rows = await cluster.query(`SELECT (SELECT count(*)::int FROM owner_users) AS owners,
          (SELECT count(*)::int FROM owner_sessions) AS sessions,
          (SELECT count(*)::int FROM audit WHERE kind = 'owner.set_up') AS records`)
        expect(rows).toEqual([{ owners: 1, sessions: 1, records: round + 1 }])
      }
    },
    longestMs,
  )
})
