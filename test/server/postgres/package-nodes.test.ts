/**
 * Packages in an object store of two server processes on one database: parts through either node, the exact
 * quota, and a node that is killed. Runs with `BRIDGE_TEST_STORE=postgres`.
 */
import { randomBytes } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import type { Transfer } from '../../../sdk/contract/agent/transfers.ts'
import { enroll, type TestAgent } from '../../support/agent.ts'
import {
  act,
  finalize,
  look,
  offer,
  offerBody,
  partlySent,
  putPart,
  told,
  upload,
} from '../../support/files.ts'
import { agentAt, startTwoNodes, type TwoNodes, untilPeers } from '../../support/nodes.ts'
import { type ObjectStore, startObjectStore, testKeys } from '../../support/object-store.ts'
import { isOnPostgres, onDatabase } from '../../support/postgres.ts'
import { soon } from '../../support/waits.ts'

const partSize = 200_000
const bytes = randomBytes(2 * partSize + 70_000)
const part = (index: number) => bytes.subarray(index * partSize, (index + 1) * partSize)
/** Packages for which the quota has room. */
const room = 10
const quota = String(room * bytes.length)

describe.skipIf(!isOnPostgres)('packages of two nodes', () => {
  let store: ObjectStore
  let nodes: TwoNodes
  beforeAll(async () => {
    store = await startObjectStore()
    nodes = await startTwoNodes({
      settings: {
        ...{ ...store.settings(), package_bytes: quota },
        ...{ packages_bytes: quota, sender_packages_bytes: quota },
      },
      environment: testKeys,
    })
    await Promise.all([untilPeers(nodes.first, 'notified'), untilPeers(nodes.second, 'notified')])
  })
  afterAll(async () => {
    await nodes?.close()
    await store?.close()
  })
  afterEach(() => {
    store.faults = {}
  })

  const reserved = () =>
    onDatabase(nodes.first.data, async (client) => {
      const { rows } = await client.query<{ sum: string | null }>(
        'SELECT sum(reserved_bytes) AS sum FROM transfers',
      )
      return Number(rows[0]?.sum ?? 0)
    })

  const keysOf = (id: string) => [...store.objects.keys()].filter((key) => key.includes(id))
  const offered = () => offer({ from: nodes.ada, to: nodes.ben, bytes, partSize })
  const committed = async (by: TestAgent, id: string) =>
    (await by.ok<{ committed_parts: number[] }>({ target: `/api/v1/transfers/${id}/package/status` }))
      .committed_parts
  const download = (by: TestAgent, id: string, what = 'file') =>
    by.call({ target: `/api/v1/transfers/${id}/package/${what}` })
  /**
   * Sends most of part 1 until `arrives` holds. A node whose idle connection to the store was closed at that moment
   * answers 503, and the sender tries again.
   */
  async function partOnItsWay(by: TestAgent, id: string, arrives: () => boolean) {
    for (;;) {
      const half = await partlySent(by, id, part(1), 180_000, 1)
      const answer: { status?: number | 'cut' } = {}
      void half.answered.then((status) => Object.assign(answer, { status }))
      await vi.waitFor(() => expect(arrives() || answer.status !== undefined).toBe(true), soon)
      if (answer.status === undefined) return half
      expect(answer.status).toBe(503)
    }
  }

  async function restarted(): Promise<void> {
    await nodes.second.start()
    await untilPeers(nodes.second, 'notified')
  }

  async function pairIn(projectId: string): Promise<[TestAgent, TestAgent]> {
    const agent = async (name: string) => {
      const { id } = await nodes.owner.createAgent(projectId, name)
      const code = await nodes.owner.enrollmentCode(projectId, id)
      const enrolled = await enroll(nodes.first.url, code, () => new Date())
      await enrolled.startSession()
      return enrolled
    }
    return [await agent('sender'), await agent('recipient')]
  }

  test('parts go up and down through either node, and each of them tells the same', async () => {
    const { ada, ben, second } = nodes
    const [adaThere, benThere] = [agentAt(second, ada), agentAt(second, ben)]
    const { id, size, sha256 } = await offered()
    expect((await putPart(ada, id, 0, part(0))).json).toMatchObject({ duplicate: false })
    expect((await putPart(adaThere, id, 1, part(1))).json).toMatchObject({ duplicate: false })
    expect((await putPart(adaThere, id, 0, part(0))).json).toMatchObject({ duplicate: true })
    for (const by of [ada, adaThere]) {
      expect(await committed(by, id)).toEqual([0, 1])
      expect(told(await finalize(by, id))).toEqual([409, 'state_conflict'])
    }
    expect((await putPart(adaThere, id, 2, part(2))).status).toBe(200)
    expect(told(await download(benThere, id))).toEqual([409, 'state_conflict'])
    expect((await finalize(ada, id)).json).toMatchObject({ verified: true, size })
    expect((await finalize(adaThere, id)).json).toMatchObject({ verified: true, size })
    await act(ben, id, 'accept')
    for (const by of [ben, benThere]) {
      expect((await download(by, id)).bytes.equals(bytes)).toBe(true)
      for (const index of [2, 0, 1])
        expect((await download(by, id, `parts/${index}`)).bytes.equals(part(index))).toBe(true)
    }
    expect((await act(benThere, id, 'receipt', { size, sha256 })).json).toMatchObject({ state: 'verified' })
    expect(told(await download(ben, id))).toEqual([410, 'package_removed'])
    await expect.poll(reserved, { interval: 50 }).toBe(0)
    expect(keysOf(id)).toEqual([])
  })

  test('a node that is killed in the middle of a part leaves nothing of it, and the other resumes', async () => {
    const { ada, ben, second } = nodes
    const transfer = await offered()
    const { id } = transfer
    await putPart(ada, id, 0, part(0))
    let came = 0
    store.faults = {
      cutAfter: (_, count) => {
        came = count
        return false
      },
    }
    const half = await partOnItsWay(agentAt(second, ada), id, () => came > 0)
    await second.kill()
    expect(await half.finish()).toBe('cut')
    expect(keysOf(id)).toHaveLength(1)
    expect(await committed(ada, id)).toEqual([0])
    await upload(ada, transfer, bytes)
    await act(ben, id, 'accept')
    expect((await download(ben, id)).bytes.equals(bytes)).toBe(true)
    await restarted()
    expect((await download(agentAt(second, ben), id, 'parts/1')).bytes.equals(part(1))).toBe(true)
    await act(ada, id, 'cancel')
  })

  test('a node that is killed between object and row leaves an object that the same part overwrites', async () => {
    const { ada, second } = nodes
    const { id } = await offered()
    store.faults = {
      afterPut: () => {
        process.kill(second.pid, 'SIGKILL')
        return 'lost'
      },
    }
    await expect(putPart(agentAt(second, ada), id, 0, part(0))).rejects.toThrow()
    store.faults = {}
    const [key = ''] = keysOf(id)
    const before = store.objects.get(key)
    expect(before?.bytes.equals(part(0))).toBe(true)
    expect(await committed(ada, id)).toEqual([])
    expect((await look(ada, id)).package).toMatchObject({ stored_parts: 0 })
    expect((await putPart(ada, id, 0, part(0))).json).toMatchObject({ duplicate: false })
    expect(keysOf(id)).toEqual([key])
    expect(store.objects.get(key)).not.toBe(before)
    expect(await committed(ada, id)).toEqual([0])
    await restarted()
    await act(ada, id, 'cancel')
  })

  test('64 uploads at both nodes at once use as much as the quota has, and no more', async () => {
    const projects = await Promise.all(
      [1, 2, 3, 4].map((index) => nodes.owner.createProject(`quota-${index}`)),
    )
    const pairs = await Promise.all(projects.map(({ id }) => pairIn(id)))
    const bodies = await Promise.all(pairs.map(([from, to]) => offerBody({ from, to, bytes, partSize })))
    await expect.poll(reserved, { interval: 50 }).toBe(0)
    for (let round = 0; round < 2; round += 1) {
      const taken: [TestAgent, Transfer][] = []
      const one = async (index: number) => {
        const [from] = pairs[index % 4] as [TestAgent, TestAgent]
        const [first, second] = [from, agentAt(nodes.second, from)]
        const [here, there] = index % 8 < 4 ? [first, second] : [second, first]
        const reply = await here.call({ target: '/api/v1/transfers', body: bodies[index % 4] as object })
        if (reply.status !== 200) return expect(told(reply)).toEqual([503, 'capacity_reached'])
        const transfer = reply.json as Transfer
        taken.push([from, transfer])
        await upload(there, transfer, bytes)
      }
      await Promise.all(Array.from({ length: 64 }, (_, index) => one(index)))
      expect([taken.length, await reserved()]).toEqual([room, Number(quota)])
      for (const [from, { id }] of taken) await act(from, id, 'cancel')
      await expect.poll(reserved, { interval: 50 }).toBe(0)
    }
    expect([...store.objects.keys()].filter((key) => key.includes('/packages/'))).toEqual([])
  })
})
