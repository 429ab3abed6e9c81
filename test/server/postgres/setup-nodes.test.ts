/**
 * The setup link of an installation with two server processes: both accept it, one request uses it, and then
 * both refuse it. Runs with `BRIDGE_TEST_STORE=postgres`.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { exchange, type Reply } from '../../support/http.ts'
import { cookieOf, ownerPassword, TestOwner } from '../../support/owner.ts'
import { isOnPostgres, onDatabase } from '../../support/postgres.ts'
import { type ServerProcess, startServerProcess } from '../../support/process.ts'

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

const told = ({ status, json }: Reply): string =>
  status === 200 ? 'done' : `${status} ${(json as { error: string }).error}`

describe.skipIf(!isOnPostgres)('the setup link at two nodes', () => {
  const nodes: ServerProcess[] = []
  beforeAll(async () => {
    const settings = { package_bytes: '0' }
    nodes.push(await startServerProcess({ settings }))
    nodes.push(await startServerProcess({ settings, joins: nodes[0] }))
  })
  afterAll(async () => {
    for (const node of nodes.toReversed()) await node.close()
  })

  test('sets up one owner, and both refuse it as soon as one has answered', async () => {
    const [first, second] = nodes as [ServerProcess, ServerProcess]
    const token = new URL(first.setupLink).hash.slice(1)
    expect(told(await setUp(second, `${token.slice(0, -4)}AAAA`, 'eve'))).toBe('401 sign_in_failed')
    // The one that succeeds asks the other node at once.
    const refused: string[] = []
    const attempts = [second, first, second, first].map(async (node, index) => {
      const reply = await setUp(node, token, `olu ${index}`)
      const other = node === first ? second : first
      if (reply.status === 200) refused.push(told(await setUp(other, token, 'late')))
      return { node, reply }
    })
    const done = await Promise.all(attempts)
    expect(done.map(({ reply }) => told(reply)).toSorted()).toEqual([
      ...Array.from({ length: done.length - 1 }, () => '410 setup_done'),
      'done',
    ])
    expect(refused).toEqual(['410 setup_done'])
    for (const node of nodes) expect(told(await setUp(node, token, 'late'))).toBe('410 setup_done')
    const winner = done.find(({ reply }) => reply.status === 200)
    // Both accept the sign-in of the owner.
    for (const { url } of nodes) {
      const owner = new TestOwner(url, cookieOf(winner?.reply as Reply))
      expect((await owner.call({ target: '/api/admin/session' })).status).toBe(200)
    }
    const counted = `SELECT (SELECT count(*)::int FROM owner_users) AS owners,
      (SELECT count(*)::int FROM audit WHERE kind = 'owner.set_up') AS records`
    const { rows } = await onDatabase(first.data, (client) => client.query(counted))
    expect(rows).toEqual([{ owners: 1, records: 1 }])
  })
})
