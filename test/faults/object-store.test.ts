/**
 * Packages beside random faults of the object store, which `lab/object-chaos.ts` lists: no part is committed
 * that differs, an upload resumes, and the quota is exact. `BRIDGE_OBJECT_FAULTS=200` makes it longer, and
 * `BRIDGE_SEED` repeats a run. Contract §9 "Package store".
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { Transfer } from '../../sdk/contract/agent/transfers.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { chanceFrom } from '../support/chance.ts'
import {
  act,
  finalize,
  look,
  offer,
  offerBody,
  otherThan,
  partlySent,
  putOther,
  putPart,
  told,
} from '../support/files.ts'
import { type ObjectStore, startObjectStore, testKeys } from '../support/object-store.ts'
import { soon } from '../support/waits.ts'
import { createChaos } from './lab/object-chaos.ts'

const long = process.env.BRIDGE_OBJECT_FAULTS
const runs = Number(long ?? 4)
const seed = Number(process.env.BRIDGE_SEED ?? Math.floor(Math.random() * 1e9))
const chance = chanceFrom(seed)

const partSize = 150_000
const count = 3
/** The node has room for one package of this size. */
const quota = String(count * partSize)
const progressMs = 250
const chaos = createChaos(chance, 2 * progressMs)

let store: ObjectStore
let bridge: TestBridge
beforeAll(async () => {
  store = await startObjectStore()
  bridge = await startBridge({
    settings: { ...store.settings(), packages_bytes: quota, sender_packages_bytes: quota },
    environment: testKeys,
    packagePace: { progressBytes: 64 * 1024, progressMs },
  })
  store.faults = chaos.faults
})
afterAll(async () => {
  await bridge.close()
  await store.close()
})

interface Run {
  readonly transfer: Transfer
  readonly bytes: Buffer
  readonly part: (index: number) => Buffer
}

const keysOf = (id: string) => [...store.objects.keys()].filter((key) => key.includes(id))
const committed = async ({ transfer: { id } }: Run) =>
  (await bridge.ada.ok<{ committed_parts: number[] }>({ target: `/api/v1/transfers/${id}/package/status` }))
    .committed_parts

/**
 * Requires that each committed part is in the store with its own bytes, and that the others count for
 * nothing.
 */
async function requireRight(run: Run): Promise<number[]> {
  const stored = await committed(run)
  for (const index of stored) {
    const [key = ''] = keysOf(run.transfer.id).filter((each) => each.includes(`/${index}-`))
    expect(store.objects.get(key)?.bytes.equals(run.part(index))).toBe(true)
  }
  return stored
}

/** Sends one part, or something else in its place, which is never taken. */
async function sendPart({ transfer: { id }, part }: Run, index: number): Promise<void> {
  const { ada } = bridge
  const drawn = chance()
  if (drawn < 0.1) {
    const half = await partlySent(ada, id, part(index), Math.floor(chance() * partSize), index)
    await pause(chance() * 20)
    return half.cut()
  }
  if (drawn < 0.2) {
    const other = otherThan(part(index))
    expect(told(await putOther(ada, id, index, part(index), other))).toBeOneOf([
      [422, 'part_mismatch'],
      [503, 'unavailable'],
    ])
    return
  }
  const reply = await putPart(ada, id, index, part(index))
  if (reply.status !== 200) expect(told(reply)).toEqual([503, 'unavailable'])
}

/** Repeats a step, with fewer faults each time, until it says that it is done. */
async function repeated(step: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; ; tries += 1) {
    chaos.share = 0.35 / (1 + tries / 8)
    if (await step()) return
  }
}

async function upload(run: Run): Promise<void> {
  await repeated(async () => {
    const stored = await requireRight(run)
    const missing = [...Array(count).keys()].filter((index) => !stored.includes(index))
    await Promise.all(missing.map((index) => sendPart(run, index)))
    const reply = await finalize(bridge.ada, run.transfer.id)
    if (reply.status === 200) return true
    expect(told(reply)).toBeOneOf([
      [409, 'state_conflict'],
      [503, 'unavailable'],
    ])
    return false
  })
}

/**
 * Reads the package or a part until all its bytes came. Fewer bytes than promised are an error of the
 * connection.
 */
const download = ({ transfer: { id } }: Run, what: string, expected: Buffer) =>
  repeated(async () => {
    const target = `/api/v1/transfers/${id}/package/${what}`
    const reply = await bridge.ben.call({ target }).catch(() => undefined)
    if (reply?.status === 200) expect(reply.bytes.equals(expected)).toBe(true)
    else if (reply !== undefined) expect(told(reply)).toEqual([503, 'unavailable'])
    return reply?.status === 200
  })

async function end({ transfer: { id, size, sha256 } }: Run, isReceived: boolean): Promise<void> {
  const body = await offerBody({ from: bridge.ada, to: bridge.ben, bytes: Buffer.from('x') })
  const over = await bridge.ada.call({ target: '/api/v1/transfers', body })
  expect(told(over)).toEqual([503, 'capacity_reached'])
  await repeated(async () => {
    const reply = isReceived
      ? await act(bridge.ben, id, 'receipt', { size, sha256 })
      : await act(bridge.ada, id, 'cancel')
    expect(reply.json).toMatchObject({ state: isReceived ? 'verified' : 'cancelled' })
    return (reply.json as Transfer).package?.removed_at !== null
  })
}

test(`in ${runs} runs, packages arrive whole beside random faults (seed ${seed})`, async () => {
  let received = 0
  for (let index = 0; index < runs; index += 1) {
    chaos.share = 0
    const bytes = randomBytes(count * partSize)
    // Accepted each time, so the runs before have given back exactly what they had reserved.
    const transfer = await offer({ from: bridge.ada, to: bridge.ben, bytes, partSize })
    const part = (at: number) => bytes.subarray(at * partSize, (at + 1) * partSize)
    const run = { transfer, bytes, part }
    const isReceived = index % 4 !== 3
    if (isReceived) {
      await upload(run)
      expect(await look(bridge.ada, transfer.id)).toMatchObject({ package: { stored_parts: count } })
      await act(bridge.ben, transfer.id, 'accept')
      await download(run, 'parts/1', part(1))
      await download(run, 'file', bytes)
      received += 1
    } else {
      chaos.share = 0.35
      await Promise.all([0, 1].map((at) => sendPart(run, at)))
      await requireRight(run)
    }
    await end(run, isReceived)
  }
  if (long !== undefined)
    process.stdout.write(`${JSON.stringify({ runs, received, faults: Object.fromEntries(chaos.counts) })}\n`)
  // Without faults the runs would show nothing.
  expect(chaos.counts.size).toBeGreaterThanOrEqual(long === undefined ? 4 : 8)
}, 3_600_000)

test('objects that a late listing hid from the removal are removed when they are an hour old', async () => {
  chaos.share = 0
  const left = () => [...store.objects.keys()].filter((key) => key.includes('/packages/'))
  const hidden = `some/prefix/packages/00000000-0000-7000-8000-000000000001/0-${'a'.repeat(64)}`
  store.objects.set(hidden, { bytes: Buffer.from('x'), changedAt: new Date() })
  for (const key of left())
    Object.assign(store.objects.get(key) ?? {}, { changedAt: new Date(Date.now() - 3_700_000) })
  Object.assign(bridge, await bridge.restart())
  await vi.waitFor(() => expect(left()).toEqual([]), soon)
})
