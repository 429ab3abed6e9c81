/**
 * Packages over each store: parts, resume, finalize, download, removal and quota are the same. Contract §9.
 */
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { Transfer } from '../../../sdk/contract/agent/transfers.ts'
import type { TestAgent } from '../../support/agent.ts'
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
import { soon } from '../../support/waits.ts'
import { type PackageWorld, packageWorlds } from './package-worlds.ts'

const partSize = 200_000
const bytes = randomBytes(2 * partSize + 70_000)
const part = (index: number) => bytes.subarray(index * partSize, (index + 1) * partSize)
const settings = { packages_bytes: String(2 * bytes.length), sender_packages_bytes: String(2 * bytes.length) }
const removed = { package: { removed_at: expect.any(String) }, cleanup: { service_at: expect.any(String) } }

describe.each(packageWorlds)('a package in %s', (_, start) => {
  let world: PackageWorld
  let ada: TestAgent
  let ben: TestAgent
  beforeAll(async () => {
    world = await start(settings)
    ada = world.bridge.ada
    ben = world.bridge.ben
  })
  afterAll(() => world.close())

  const offered = (fields: object = {}) => offer({ from: ada, to: ben, bytes, partSize, fields })
  const status = async (id: string) =>
    (await ada.ok<{ committed_parts: number[] }>({ target: `/api/v1/transfers/${id}/package/status` }))
      .committed_parts
  const download = (id: string, what = 'file') =>
    ben.call({ target: `/api/v1/transfers/${id}/package/${what}` })
  const cancel = async ({ id }: Transfer) =>
    expect(await endAndRemove(ada, id, 'cancel')).toMatchObject(removed)

  test('is sent, resumed, finalized, read as a file and in parts, and received', async () => {
    const transfer = await offered()
    const { id } = transfer
    expect((await putPart(ada, id, 2, part(2))).json).toMatchObject({ index: 2, duplicate: false })
    expect((await putPart(ada, id, 0, part(0))).status).toBe(200)
    expect(await status(id)).toEqual([0, 2])
    expect(told(await finalize(ada, id))).toEqual([409, 'state_conflict'])
    await upload(ada, transfer, bytes)
    expect(await look(ada, id)).toMatchObject({ package: { stored_parts: 3, stored_at: expect.any(String) } })
    await act(ben, id, 'accept')
    expect((await download(id)).bytes.equals(bytes)).toBe(true)
    for (const index of [0, 1, 2])
      expect((await download(id, `parts/${index}`)).bytes.equals(part(index))).toBe(true)
    expect(told(await download(id, 'parts/3'))).toEqual([404, 'not_found'])
    expect((await finalize(ada, id)).json).toMatchObject({ verified: true, size: bytes.length })
    const receipt = { size: transfer.size, sha256: transfer.sha256 }
    expect(await endAndRemove(ben, id, 'receipt', receipt)).toMatchObject({ state: 'verified', ...removed })
    expect(await world.count(id)).toBe(0)
    expect(told(await download(id))).toEqual([410, 'package_removed'])
  })

  test('takes no part with other bytes, another length or of a cut connection, and keeps none of it', async () => {
    const transfer = await offered()
    const { id } = transfer
    const other = otherThan(part(0))
    expect(told(await putOther(ada, id, 0, part(0), other))).toEqual([422, 'part_mismatch'])
    expect(told(await putOther(ada, id, 0, part(0), part(0).subarray(1)))).toEqual([422, 'part_mismatch'])
    const half = await partlySent(ada, id, part(0), 150_000)
    half.cut()
    await vi.waitFor(async () => expect(await world.contains(id, part(0).subarray(0, 64))).toBe(false), soon)
    expect(await status(id)).toEqual([])
    expect((await look(ada, id)).package).toMatchObject({ stored_parts: 0 })
    await vi.waitFor(async () => expect((await putPart(ada, id, 0, part(0))).status).toBe(200), soon)
    expect((await putPart(ada, id, 0, part(0))).json).toMatchObject({ duplicate: true })
    expect(told(await putOther(ada, id, 0, part(0), other))).toEqual([422, 'part_mismatch'])
    expect(await status(id)).toEqual([0])
    await cancel(transfer)
  })

  test('stores a part once that is sent several times at once, and audits it once', async () => {
    const transfer = await offered()
    const { id } = transfer
    const replies = await Promise.all(Array.from({ length: 4 }, () => putPart(ada, id, 0, part(0))))
    const first = replies.filter(
      ({ status: code, json }) => code === 200 && !(json as { duplicate: boolean }).duplicate,
    )
    expect(first).toHaveLength(1)
    for (const reply of replies.filter(({ status: code }) => code !== 200))
      expect(told(reply)).toEqual([409, 'transfer_busy'])
    expect((await look(ada, id)).package).toMatchObject({ stored_parts: 1 })
    await cancel(transfer)
  })

  test('survives a restart of the node between two parts', async () => {
    const transfer = await offered()
    const { id } = transfer
    await putPart(ada, id, 1, part(1))
    await world.restart()
    expect(await status(id)).toEqual([1])
    await upload(ada, transfer, bytes)
    await act(ben, id, 'accept')
    expect((await download(id)).bytes.equals(bytes)).toBe(true)
    await cancel(transfer)
  })

  test('stops an upload whose transfer ends, and keeps nothing of it', async () => {
    const transfer = await offered()
    const { id } = transfer
    const half = await partlySent(ada, id, part(0), 150_000)
    await vi.waitFor(async () => expect(await status(id)).toEqual([]), soon)
    await cancel(transfer)
    expect(await half.finish()).toBeOneOf([409, 'cut'])
    await vi.waitFor(async () => expect(await world.count(id)).toBe(0), soon)
  })

  test('reserves its bytes until they are removed', async () => {
    const both = [await offered(), await offered()]
    const body = await offerBody({ from: ada, to: ben, bytes: Buffer.from('x') })
    const third = () => ada.call({ target: '/api/v1/transfers', body })
    expect(told(await third())).toEqual([503, 'capacity_reached'])
    for (const transfer of both) await cancel(transfer)
    const { json } = await third()
    await cancel(json as Transfer)
  })

  test('may be empty', async () => {
    const transfer = await offer({ from: ada, to: ben, bytes: Buffer.alloc(0) })
    await upload(ada, transfer, Buffer.alloc(0))
    await act(ben, transfer.id, 'accept')
    expect((await download(transfer.id)).bytes).toHaveLength(0)
    await cancel(transfer)
  })
})
