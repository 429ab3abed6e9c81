/**
 * Faults of an object store: each has one effect, no part is committed that differs, the upload resumes, and
 * the quota is exact. Contract §9 "Package store".
 */
import { randomBytes } from 'node:crypto'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Transfer } from '../../../sdk/contract/agent/transfers.ts'
import { newAgeKey } from '../../../sdk/index.ts'
import type { TestAgent } from '../../support/agent.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { bridgeOf } from '../../support/bridges.ts'
import {
  act,
  endAndRemove,
  finalize,
  look,
  offer,
  offerBody,
  otherThan,
  partlySent,
  putOther,
  putPart,
  told,
  upload,
} from '../../support/files.ts'
import type { Reply } from '../../support/http.ts'
import { type ObjectStore, startObjectStore, testKeys } from '../../support/object-store.ts'
import { tamper } from '../../support/tamper.ts'
import { soon } from '../../support/waits.ts'

const partSize = 300_000
const bytes = randomBytes(2 * partSize)
const part = (index: number) => bytes.subarray(index * partSize, (index + 1) * partSize)
const settings = { packages_bytes: String(bytes.length), sender_packages_bytes: String(bytes.length) }
/** On a busy machine a sound store may need seconds. Only a store that stalls gets a short limit. */
const patientMs = 60_000
const pace = { progressBytes: 64 * 1024, progressMs: patientMs }

let store: ObjectStore
let bridge: TestBridge
let ada: TestAgent
let ben: TestAgent
beforeAll(async () => {
  store = await startObjectStore()
  bridge = await startBridge({
    settings: { ...settings, ...store.settings() },
    environment: testKeys,
    packagePace: pace,
  })
  ada = bridge.ada
  ben = bridge.ben
})
afterAll(async () => {
  await bridge.close()
  await store.close()
})

/** How a store that stalls is told. */
const stalls = 'slower than 64 KiB in ten seconds'

/** Lets the store stall, and the node give it up soon. */
function stall(faults: ObjectStore['faults']): void {
  giveUpSoon()
  store.faults = faults
}

function giveUpSoon(): void {
  // A body may make no progress meanwhile, because this process stalls.
  Object.assign(pace, { progressMs: 300, progressBytes: 0 })
}

function mend(): void {
  Object.assign(pace, { progressMs: patientMs, progressBytes: 64 * 1024 })
  store.faults = {}
}

const open: Transfer[] = []
afterEach(async () => {
  mend()
  for (const { id } of open.splice(0)) {
    await act(ada, id, 'cancel')
    await vi.waitFor(
      async () => expect((await look(ada, id)).package?.removed_at).toEqual(expect.any(String)),
      soon,
    )
    expect(keysOf(id)).toEqual([])
  }
})

async function offered(fields = {}): Promise<Transfer> {
  const transfer = await offer({ from: ada, to: ben, bytes, partSize, fields })
  open.push(transfer)
  return transfer
}

async function accepted(fields = {}): Promise<Transfer> {
  const transfer = await offered(fields)
  await upload(ada, transfer, bytes)
  await act(ben, transfer.id, 'accept')
  return transfer
}

const setPair = (enabled: boolean) =>
  bridge.owner.ok({
    target: `/api/admin/projects/${bridge.project.id}/pairings`,
    body: { agent_ids: [ada.id, ben.id], enabled },
  })
const keysOf = (id: string) => [...store.objects.keys()].filter((key) => key.includes(id))
const download = (id: string, what = 'file') =>
  ben.call({ target: `/api/v1/transfers/${id}/package/${what}` })
const stored = async (id: string) => (await look(ada, id)).package?.stored_parts

async function audited(id: string, kind: string): Promise<number> {
  const { audit } = await bridge.owner.ok<{ audit: { kind: string }[] }>({
    target: `/api/admin/projects/${bridge.project.id}/audit?subject_id=${id}&limit=100`,
  })
  return audit.filter((record) => record.kind === kind).length
}

/** The refusal that every fault of the store becomes. */
function expectTold({ headers, text, ...reply }: Reply, words: string, ms = 5000): void {
  expect([reply.status, Number(headers['retry-after'])]).toEqual([503, Math.ceil(ms / 1000)])
  expect(reply.json).toMatchObject({ error: 'unavailable', retry_after_ms: ms })
  expect(text).toContain(words)
}

describe('a part', () => {
  const faults: [string, ObjectStore['faults'], string, number?][] = [
    ['that is stored and answered with 500', { afterPut: () => failed }, 'answered 500 InternalError'],
    ['whose answer is lost', { afterPut: () => 'lost' }, 'does not answer', 250],
    ['whose connection is cut', { cutAfter: (_, count) => count > 100_000 }, 'does not answer', 250],
    ['that is refused as too much', { before: () => ({ status: 503, code: 'SlowDown' }) }, '503 SlowDown'],
    ['that is denied', { before: () => ({ status: 403, code: 'AccessDenied' }) }, '403 AccessDenied', 60_000],
    ['that stalls', { before: () => new Promise(() => {}) }, stalls],
  ]
  test.each(faults)(
    '%s is told in words, is not counted, and resumes',
    async (_, fault, words, retryAfter) => {
      const { id } = await offered()
      const isPut = ({ verb }: { verb: string }) => verb === 'PUT'
      if (words === stalls) stall(fault)
      store.faults = {
        ...fault,
        ...(fault.before && { before: (...call) => (isPut(call[0]) ? fault.before?.(...call) : undefined) }),
      }
      for (const _time of [1, 2]) expectTold(await putPart(ada, id, 0, part(0)), words, retryAfter)
      expect([await stored(id), await audited(id, 'transfer.part_stored')]).toEqual([0, 0])
      mend()
      expect((await putPart(ada, id, 0, part(0))).json).toMatchObject({ duplicate: false })
      expect([await stored(id), await audited(id, 'transfer.part_stored')]).toEqual([1, 1])
      expect(keysOf(id)).toHaveLength(1)
    },
  )

  test('with other bytes never reaches a store as a whole, even if the store verifies nothing', async () => {
    const { id } = await offered()
    let came = 0
    store.faults = {
      cutAfter: (_, count) => {
        came = count
        return false
      },
    }
    const begun = await partlySent(ada, id, part(0), partSize - 1)
    await vi.waitFor(() => expect(came).toBeGreaterThan(0), soon)
    const other = otherThan(part(0))
    expect(told(await putOther(ada, id, 0, part(0), other))).toEqual([422, 'part_mismatch'])
    begun.cut()
    expect(came).toBeLessThanOrEqual(partSize - 64 * 1024)
    expect(keysOf(id)).toEqual([])
  })
})

describe('finalize', () => {
  test.each<[string, (key: string) => void]>([
    ['a lost object', (key) => store.objects.delete(key)],
    ['other bytes', (key) => Object.assign(store.objects.get(key) ?? {}, { bytes: part(0) })],
    [
      'a shorter object',
      (key) => Object.assign(store.objects.get(key) ?? {}, { bytes: part(1).subarray(1) }),
    ],
  ])('finds %s, and only that part is sent again', async (_, damage) => {
    const transfer = await offered()
    const { id } = transfer
    for (const index of [0, 1]) await putPart(ada, id, index, part(index))
    const key = keysOf(id).find((each) => each.includes('/1-')) ?? ''
    damage(key)
    const reply = await finalize(ada, id)
    expect(told(reply)).toEqual([409, 'state_conflict'])
    expect(reply.json).toMatchObject({ details: { missing: 'parts' } })
    const status = await ada.ok<{ committed_parts: number[] }>({
      target: `/api/v1/transfers/${id}/package/status`,
    })
    expect(status.committed_parts).toEqual([0])
    expect((await look(ada, id)).package).toMatchObject({ stored_parts: 1, stored_at: null })
    await upload(ada, transfer, bytes)
    expect((await look(ada, id)).package).toMatchObject({ stored_parts: 2, stored_at: expect.any(String) })
  })

  let ageRecipient: string | undefined
  const sealing = async (): Promise<{ keep: string; send: () => Promise<Transfer> }> => {
    const keep = await mkdtemp(join(tmpdir(), 'bridge-keep-'))
    const [sender, recipient] = [bridgeOf(bridge, ada), bridgeOf(bridge, ben)]
    onTestFinished(async () => {
      await Promise.all([sender.close(), recipient.close()])
      await rm(keep, { recursive: true })
    })
    const path = join(keep, 'report.pdf')
    await writeFile(path, part(0))
    ageRecipient ??= (await newAgeKey()).recipient
    await recipient.recipientKeys.register(ageRecipient)
    const onOffered = (transfer: Transfer) => void open.push(transfer)
    const seal = { required: true }
    return { keep, send: () => sender.transfers.send(path, { to: 'ben', keep, seal, onOffered }) }
  }
  const lose = (times: number): { gets: number } => {
    const lost = { gets: 0 }
    store.faults = {
      before: ({ verb, key }) => {
        if (verb !== 'GET' || key === '') return undefined
        lost.gets += 1
        if (lost.gets <= times) store.objects.delete(key)
        return undefined
      },
    }
    return lost
  }

  test('finds a lost object of a sealed file, and the client sends that part again', async () => {
    const { keep, send } = await sealing()
    const lost = lose(1)
    const sent = await send()
    expect(sent.package).toMatchObject({ stored_at: expect.any(String) })
    // Once for the lost object, then for the new one. A client that waits too long for an answer asks again.
    expect(lost.gets).toBeGreaterThanOrEqual(2)
    expect(await readdir(join(keep, 'sending'))).toEqual([])
  })

  test('of a store that loses an object again and again leaves the sealed copy, which resumes', async () => {
    const { keep, send } = await sealing()
    lose(3)
    await expect(send()).rejects.toMatchObject({ code: 'state_conflict', details: { missing: 'parts' } })
    expect(await readdir(join(keep, 'sending'))).toHaveLength(1)
    const sent = await send()
    expect(sent.id).toBe(open.at(-1)?.id)
    expect(sent.package).toMatchObject({ stored_at: expect.any(String) })
    expect(open).toHaveLength(1)
  })

  test('of a store that fails is told in words, and is repeated', async () => {
    const transfer = await offered()
    const { id } = transfer
    for (const index of [0, 1]) await putPart(ada, id, index, part(index))
    store.faults = { before: ({ verb, key }) => (verb === 'GET' && key !== '' ? failed : undefined) }
    expectTold(await finalize(ada, id), 'answered 500 InternalError')
    stall({ beforeChunk: () => new Promise(() => {}) })
    expectTold(await finalize(ada, id), stalls)
    mend()
    expect((await finalize(ada, id)).status).toBe(200)
    expect(await audited(id, 'transfer.uploaded')).toBe(1)
  })
})

describe('a download', () => {
  test('of a store that refuses is told in words before the first byte', async () => {
    const { id } = await accepted()
    store.faults = { before: () => failed }
    expectTold(await download(id), 'answered 500 InternalError')
    stall({ before: () => new Promise(() => {}) })
    expectTold(await download(id, 'parts/0'), stalls)
    mend()
    expect((await download(id)).bytes.equals(bytes)).toBe(true)
  })

  test.each<[string, ObjectStore['faults']]>([
    ['returns other bytes', { served: (_, all) => otherThan(all) }],
    ['returns fewer bytes', { served: (_, all) => all.subarray(0, -1) }],
    ['returns more bytes', { served: (_, all) => Buffer.concat([all, Buffer.from('x')]) }],
    // The store begins to answer in time, however busy the machine is.
    ['stalls', { beforeChunk: () => new Promise(() => giveUpSoon()) }],
  ])('of a store that %s is cut before its end', async (_, faults) => {
    const { id } = await accepted()
    store.faults = faults
    await expect(download(id)).rejects.toThrow()
    mend()
    expect((await download(id, 'parts/1')).bytes.equals(part(1))).toBe(true)
  })

  test('of a lost object is refused as not found', async () => {
    const { id } = await accepted()
    for (const key of keysOf(id)) store.objects.delete(key)
    expect(told(await download(id))).toEqual([404, 'not_found'])
  })

  test('stops before its end when another node ended the transfer', async () => {
    const { id } = await accepted()
    let chunks = 0
    store.faults = {
      beforeChunk: async () => {
        chunks += 1
        await new Promise((resolve) => setTimeout(resolve, 1000))
      },
    }
    const cut = expect(download(id)).rejects.toThrow()
    await vi.waitFor(() => expect(chunks).toBeGreaterThan(2), soon)
    tamper(bridge.data, (database) =>
      database.prepare("UPDATE transfers SET state = 'cancelled', ends_at = NULL WHERE id = ?").run(id),
    )
    const since = performance.now()
    await cut
    expect(performance.now() - since).toBeLessThan(10_000)
  })
})

describe('the removal', () => {
  test('of a store that fails is not recorded, keeps the quota reserved, and is repeated', async () => {
    const { id } = await accepted()
    store.faults = { before: ({ verb }) => (verb === 'DELETE' ? failed : undefined) }
    const ended = await act(ada, id, 'cancel')
    expect(ended.json).toMatchObject({ state: 'cancelled', package: { removed_at: null } })
    const body = await offerBody({ from: ada, to: ben, bytes: Buffer.from('x') })
    expect(told(await ada.call({ target: '/api/v1/transfers', body }))).toEqual([503, 'capacity_reached'])
    expect(told(await download(id))).toEqual([409, 'state_conflict'])
    mend()
    expect((await endAndRemove(ada, id, 'cancel')).package?.removed_at).toEqual(expect.any(String))
    const next = await ada.ok<Transfer>({ target: '/api/v1/transfers', body })
    await act(ada, next.id, 'cancel')
  })

  const ends: [string, (id: string) => Promise<unknown>][] = [
    [
      'cancels',
      async (id) => {
        const ended = await act(ada, id, 'cancel')
        expect(ended.json).toMatchObject({ state: 'cancelled', package: { removed_at: null } })
      },
    ],
    ['disables the pair', () => setPair(false)],
    [
      'records an expiry in a list',
      async (id) => {
        bridge.clock.advance(61)
        const { transfers } = await ada.ok<{ transfers: Transfer[] }>({ target: '/api/v1/transfers' })
        expect(transfers.find((each) => each.id === id)).toMatchObject({ state: 'expired' })
      },
    ],
  ]
  test.each(ends)(
    'of a store that does not answer lets an answer that %s wait for two seconds only',
    async (_, end) => {
      const { id } = await accepted({ ttl_seconds: 60 })
      stall({ before: () => new Promise(() => {}) })
      const since = performance.now()
      await end(id)
      expect(performance.now() - since).toBeLessThan(10_000)
      mend()
      await bridge.restart().then((restarted) => Object.assign(bridge, restarted))
      await setPair(true)
      // The restarted node repeats the removal of a package whose transfer nobody can end again.
      const removed = async () => (await look(ada, id)).package?.removed_at
      await vi.waitFor(async () => expect(await removed()).toEqual(expect.any(String)), soon)
    },
  )

  test.each<[string, NonNullable<ObjectStore['faults']['before']>]>([
    ['fails', ({ verb }) => (verb === 'DELETE' ? failed : undefined)],
    ['does not answer', ({ verb }) => (verb === 'DELETE' ? new Promise(() => {}) : undefined)],
  ])('of a store that %s does not change the answer that deletes a project', async (_, before) => {
    const { owner } = bridge
    const project = await owner.createProject('short')
    const [cy, di] = [await bridge.agent('cy', project.id), await bridge.agent('di', project.id)]
    const transfer = await offer({ from: cy, to: di, bytes: part(0) })
    await putPart(cy, transfer.id, 0, part(0))
    store.faults = { before }
    const since = performance.now()
    const target = `/api/admin/projects/${project.id}`
    const deleted = await owner.call({ target: `${target}/delete`, body: { confirm_name: 'short' } })
    expect([deleted.status, deleted.json]).toMatchObject([200, { id: project.id }])
    expect(performance.now() - since).toBeLessThan(10_000)
    expect(told(await owner.call({ target }))).toEqual([404, 'not_found'])
    expect(keysOf(transfer.id)).toHaveLength(1)
    mend()
    await bridge.restart().then((restarted) => Object.assign(bridge, restarted))
    await vi.waitFor(() => expect(keysOf(transfer.id)).toEqual([]), soon)
    // The package counts until its removal is recorded, which follows that of its objects.
    await vi.waitFor(() => offered(), soon)
  })

  test('finds recorded objects that a listing does not show', async () => {
    const { id } = await accepted()
    store.faults = { listed: (key) => !key.includes(id) }
    expect((await endAndRemove(ada, id, 'cancel')).package?.removed_at).toEqual(expect.any(String))
    expect(keysOf(id)).toEqual([])
  })
})

const failed = { status: 500, code: 'InternalError' }
