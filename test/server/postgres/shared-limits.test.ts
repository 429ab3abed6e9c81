/** Limits that two server processes on one database hold together. Runs with `BRIDGE_TEST_STORE=postgres`. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { limits } from '../../../sdk/contract/limits.ts'
import { generateKeyPair } from '../../../sdk/signing/keys.ts'
import { TestAgent } from '../../support/agent.ts'
import { exchange, type Reply } from '../../support/http.ts'
import { agentAt, startTwoNodes, type TwoNodes, untilPeers } from '../../support/nodes.ts'
import { ownerName, ownerPassword } from '../../support/owner.ts'
import { isOnPostgres, onDatabase } from '../../support/postgres.ts'

const perSecond = 10
/** The rate holds from then on. */
const holdsAfterMs = 2500
const measuredMs = 3000

describe.skipIf(!isOnPostgres)('two nodes on one database', () => {
  let nodes: TwoNodes
  beforeAll(async () => {
    const rate = String(perSecond)
    const failures = String(limits.failedAuthPerMinute)
    const settings = { rate_per_second: rate, rate_burst: rate, failed_auth_per_minute: failures }
    nodes = await startTwoNodes({ settings })
    await Promise.all([untilPeers(nodes.first, 'notified'), untilPeers(nodes.second, 'notified')])
  })
  afterAll(() => nodes?.close())

  test('admit together no more than the rate of an agent', async () => {
    const beganMs = performance.now()
    const passedMs = () => performance.now() - beganMs
    const admitted = [0, 0]
    const refused = [0, 0]
    const flow = async (index: number) => {
      const there = agentAt(index === 0 ? nodes.first : nodes.second, nodes.ben)
      while (passedMs() < holdsAfterMs + measuredMs) {
        const { status, json } = await there.call({ target: '/api/v1/conversations' })
        const counts = status === 200 ? admitted : refused
        if (status !== 200) expect(json).toMatchObject({ error: 'rate_limited' })
        if (passedMs() > holdsAfterMs) counts[index] = (counts[index] ?? 0) + 1
        // A client that is refused asks again soon, at the other node too.
        if (status !== 200) await sleep(5)
      }
    }
    // A busy machine may need a third of a second for an answer.
    await Promise.all([0, 0, 0, 0, 1, 1, 1, 1].map(flow))
    const total = admitted.reduce((sum, each) => sum + each, 0)
    const most = (perSecond * measuredMs) / 1000
    // Both nodes had more requests than they admitted. Without sharing they would admit twice the rate.
    expect(Math.min(...refused)).toBeGreaterThan(0)
    expect(total).toBeGreaterThan(most / 4)
    expect(total).toBeLessThan(most * 1.5)
  })

  /** Uses the credential of an agent with another key. */
  const failAt = async ({ url }: { readonly url: string }): Promise<string> => {
    const { enrolled } = nodes.ben
    const other = new TestAgent(url, generateKeyPair(), enrolled, () => new Date())
    const { json } = await other.call({ target: '/api/v1/conversations' })
    return (json as { error: string }).error
  }

  test('refuse failed proofs of an address after too many at either, and no correct one', async () => {
    const { first, second, ada } = nodes
    expect(await failAt(second)).toBe('signature_invalid')
    const atFirst: string[] = []
    while (atFirst.length < limits.failedAuthPerMinute + 5) atFirst.push(await failAt(first))
    expect([atFirst[0], atFirst.at(-1)]).toEqual(['signature_invalid', 'rate_limited'])
    // Its own failures are too few for a refusal.
    const atSecond: string[] = []
    while (atSecond.at(-1) !== 'rate_limited' && atSecond.length < limits.failedAuthPerMinute - 1) {
      await sleep(300)
      atSecond.push(await failAt(second))
    }
    expect(atSecond.at(-1)).toBe('rate_limited')
    for (const node of [first, second])
      expect((await agentAt(node, ada).call({ target: '/api/v1/conversations' })).status).toBe(200)
  })

  const signIn = ({ url }: { readonly url: string }, password: string, name = ownerName): Promise<Reply> =>
    exchange(url, {
      method: 'POST',
      target: '/api/admin/session',
      headers: [
        ['Origin', url],
        ['Content-Type', 'application/json'],
      ],
      body: JSON.stringify({ name, password }),
    })

  test('record one failed sign-in of an address in a minute', async () => {
    const failed = await Promise.all(
      [nodes.first, nodes.second].map((node, index) => signIn(node, 'a wrong password', `nobody ${index}`)),
    )
    expect(failed.map(({ status }) => status)).toEqual([401, 401])
    const { rowCount } = await onDatabase(nodes.first.data, (client) =>
      client.query("SELECT 1 FROM audit WHERE kind = 'owner.sign_in_failed'"),
    )
    expect(rowCount).toBe(1)
  })

  test('delay a name after wrong passwords at either, until one accepts the correct one', async () => {
    const each = [nodes.first, nodes.second]
    for (let attempt = 0; attempt < 5; attempt += 1) {
      const { json } = await signIn(each[attempt % 2] ?? nodes.first, 'a wrong password')
      expect(json).toMatchObject({ error: 'sign_in_failed' })
    }
    // A slow disk may have taken the second that the delay lasts.
    await onDatabase(nodes.first.data, (client) =>
      client.query("UPDATE sign_in_failures SET until = clock_timestamp() + interval '30 s'"),
    )
    const delayed = await Promise.all(each.map((node) => signIn(node, ownerPassword)))
    for (const { status, headers } of delayed) {
      expect(status).toBe(429)
      expect(Number(headers['retry-after'])).toBeGreaterThan(1)
    }
    await onDatabase(nodes.first.data, (client) =>
      client.query('UPDATE sign_in_failures SET until = clock_timestamp()'),
    )
    await expect.poll(async () => (await signIn(nodes.second, ownerPassword)).status).toBe(200)
    // The count has begun again at both.
    for (const node of each)
      expect((await signIn(node, 'a wrong password')).json).toMatchObject({ error: 'sign_in_failed' })
    expect((await signIn(nodes.first, ownerPassword)).status).toBe(200)
  })
})
