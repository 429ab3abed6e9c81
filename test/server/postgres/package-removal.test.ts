/**
 * The removal of packages from an object store with two server processes on one database: the state first,
 * then the streams of every node, then the objects, then the record. Runs with `BRIDGE_TEST_STORE=postgres`.
 */
import { randomBytes } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { act, look, offer, putPart, told, upload } from '../../support/files.ts'
import { agentAt, startTwoNodes, type TwoNodes, untilPeers } from '../../support/nodes.ts'
import { holdDeletes, type ObjectStore, startObjectStore, testKeys } from '../../support/object-store.ts'
import { databaseUrl, isOnPostgres } from '../../support/postgres.ts'
import { expectInTries, medianOf } from '../../support/tries.ts'
import { soon } from '../../support/waits.ts'
import { hasPooler, type Pooler, startPooler } from './pooler.ts'

const bytes = randomBytes(600_000)
const settingsOf = (store: ObjectStore) => ({ ...store.settings(), package_bytes: String(bytes.length) })
const stoppedMs = 2500
const chunkMs = 700

async function uploaded({ ada, ben }: TwoNodes): Promise<string> {
  const transfer = await offer({ from: ada, to: ben, bytes, partSize: 200_000 })
  await upload(ada, transfer, bytes)
  await act(ben, transfer.id, 'accept')
  return transfer.id
}

const removedAt = async ({ ada }: TwoNodes, id: string) => (await look(ada, id)).package?.removed_at
const untilRemoved = (nodes: TwoNodes, id: string) =>
  expect.poll(() => removedAt(nodes, id), { interval: 50 }).toEqual(expect.any(String))

/**
 * Cancels at the first node while the second sends the package slowly. The store deletes nothing until the cancel is
 * answered, and the requests after it. Times are from before the request.
 */
async function cancelled(nodes: TwoNodes, store: ObjectStore) {
  store.faults = {}
  const id = await uploaded(nodes)
  const there = { ada: agentAt(nodes.second, nodes.ada), ben: agentAt(nodes.second, nodes.ben) }
  const deletes: { readonly atMs: number; readonly recorded: unknown }[] = []
  const { promise: answered, resolve: deleteNow } = Promise.withResolvers<void>()
  let chunks = 0
  store.faults = {
    beforeChunk: async () => {
      chunks += 1
      await new Promise((resolve) => setTimeout(resolve, chunkMs))
    },
    before: async ({ verb, key }) => {
      if (verb !== 'DELETE' || !key.includes(id)) return undefined
      deletes.push({ atMs: performance.now() - beganMs, recorded: await removedAt(nodes, id) })
      await answered
      return undefined
    },
  }
  const cut = there.ben.call({ target: `/api/v1/transfers/${id}/package/file` }).then(
    () => Number.POSITIVE_INFINITY,
    () => performance.now() - beganMs,
  )
  await vi.waitFor(() => expect(chunks).toBeGreaterThan(1), soon)
  const beganMs = performance.now()
  const answer = await act(nodes.ada, id, 'cancel')
  const refusals = [
    told(await putPart(there.ada, id, 0, bytes.subarray(0, 200_000))),
    told(await there.ben.call({ target: `/api/v1/transfers/${id}/package/parts/0` })),
  ]
  deleteNow()
  const cutMs = await cut
  await untilRemoved(nodes, id)
  const left = [...store.objects.keys()].filter((key) => key.includes(id))
  return { answer, refusals, cutMs, deletes, left }
}

describe.skipIf(!isOnPostgres)('the removal of a package', () => {
  let store: ObjectStore
  let nodes: TwoNodes
  beforeAll(async () => {
    store = await startObjectStore()
    nodes = await startTwoNodes({ settings: settingsOf(store), environment: testKeys })
    await Promise.all([untilPeers(nodes.first, 'notified'), untilPeers(nodes.second, 'notified')])
  })
  afterAll(async () => {
    await nodes?.close()
    await store?.close()
  })
  afterEach(() => {
    store.faults = {}
  })

  test('ends the streams of the other node at once, and deletes 2.5 s after the state', async () => {
    const cutMs = async () => {
      const found = await cancelled(nodes, store)
      expect(found.answer.json).toMatchObject({ state: 'cancelled', package: { removed_at: null } })
      expect(found.refusals).toEqual([
        [409, 'state_conflict'],
        [409, 'state_conflict'],
      ])
      expect(found.deletes.length).toBeGreaterThanOrEqual(3)
      for (const { atMs, recorded } of found.deletes) {
        expect(atMs).toBeGreaterThan(stoppedMs - 1)
        expect(recorded).toBeNull()
      }
      expect(found.left).toEqual([])
      return found.cutMs
    }
    // The question every 1.2 s alone needs 0.6 s on average.
    await expectInTries(() => medianOf(5, cutMs), 300)
  })

  test('is finished by the leader if the node is killed at which the transfer ended', async () => {
    const { ada, second } = nodes
    const id = await uploaded(nodes)
    const mayDelete = holdDeletes(store)
    expect((await act(agentAt(second, ada), id, 'cancel')).json).toMatchObject({ state: 'cancelled' })
    await second.kill()
    expect([...store.objects.keys()].filter((key) => key.includes(id))).toHaveLength(3)
    expect(await removedAt(nodes, id)).toBeNull()
    mayDelete()
    await untilRemoved(nodes, id)
    expect([...store.objects.keys()].filter((key) => key.includes(id))).toEqual([])
    const { audit } = await nodes.owner.ok<{ audit: { kind: string }[] }>({
      target: `/api/admin/projects/${nodes.project.id}/audit?subject_id=${id}&limit=100`,
    })
    expect(audit.filter(({ kind }) => kind === 'transfer.package_removed')).toHaveLength(1)
    await second.start()
    await untilPeers(second, 'notified')
  })

  test('of objects without an open transfer is done by the next leader once they are an hour old', async () => {
    const { ada, ben, first, second } = nodes
    const { id } = await offer({ from: ada, to: ben, bytes, partSize: 200_000 })
    await putPart(ada, id, 0, bytes.subarray(0, 200_000))
    const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000)
    const [own = ''] = [...store.objects.keys()].filter((key) => key.includes(id))
    Object.assign(store.objects.get(own) ?? {}, { changedAt: hoursAgo(2) })
    const [old, young] = ['1', '2'].map(
      (last) => `some/prefix/packages/00000000-0000-7000-8000-00000000000${last}/0-${'a'.repeat(64)}`,
    ) as [string, string]
    store.objects.set(old, { bytes: Buffer.from('x'), changedAt: hoursAgo(1.1) })
    store.objects.set(young, { bytes: Buffer.from('x'), changedAt: hoursAgo(0.9) })
    await first.kill('SIGTERM')
    const left = () => [...store.objects.keys()].filter((key) => key.includes('/packages/')).sort()
    await expect.poll(left, { interval: 100 }).toEqual([young, own].sort())
    expect(await agentAt(second, ada).ok({ target: `/api/v1/transfers/${id}/package/status` })).toMatchObject(
      {
        committed_parts: [0],
      },
    )
    await first.start()
  })
})

describe.skipIf(!isOnPostgres || !hasPooler)('the removal of a package, without notifications', () => {
  let store: ObjectStore
  let nodes: TwoNodes
  let pooler: Pooler
  beforeAll(async () => {
    store = await startObjectStore()
    nodes = await startTwoNodes({
      settings: settingsOf(store),
      environment: testKeys,
      async second({ data }) {
        pooler = await startPooler(databaseUrl(data), 'transaction')
        return { database: pooler.url }
      },
    })
    await untilPeers(nodes.second, 'polled')
  })
  afterAll(async () => {
    await nodes?.close()
    await pooler?.close()
    await store?.close()
  })

  test('ends the streams of the other node before it deletes', async () => {
    for (let round = 0; round < 3; round += 1) {
      const cutAfterDeletesMs = async () => {
        const { cutMs, deletes, left } = await cancelled(nodes, store)
        for (const { atMs } of deletes) expect(atMs).toBeGreaterThan(stoppedMs - 1)
        expect(left).toEqual([])
        return cutMs - Math.min(...deletes.map(({ atMs }) => atMs))
      }
      await expectInTries(cutAfterDeletesMs, 0)
    }
  })
})
