/**
 * What ends while its bytes move: cancelled, expired, deleted or stopped in the middle of a part. Nothing of a transfer that
 * is over stays on the disk, and everything of one that lives.
 *
 * Contract §9 "bytes removed".
 */
import { existsSync } from 'node:fs'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Transfer } from '../../../sdk/contract/agent/transfers.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { act, fileOf, finalize, look, offer, partlySent, putPart, told, upload } from '../../support/files.ts'

const races = Number(process.env.BRIDGE_RACES ?? 8)

let bridge: TestBridge
const bytes = fileOf(300_000)
const partSize = 100_000
const part = (index: number) => bytes.subarray(index * partSize, (index + 1) * partSize)

beforeAll(async () => {
  bridge = await startBridge()
})
afterAll(() => bridge.close())

const folderOf = (id: string) => join(bridge.data, 'packages', id)
const given = (fields: object = {}) => offer({ from: bridge.ada, to: bridge.ben, bytes, partSize, fields })
const committed = async (id: string) =>
  (
    await bridge.ada.ok<{ committed_parts: number[] }>({
      target: `/api/v1/transfers/${id}/package/status`,
    })
  ).committed_parts

/** A part of which the first half has come. */
async function halfSent(id: string, index: number) {
  const sending = await partlySent(bridge.ada, id, part(index), partSize / 2, index)
  await expect.poll(() => readdir(folderOf(id)).catch(() => [])).not.toEqual([])
  return sending
}

describe('a part that is on its way', () => {
  test('when the transfer is cancelled is refused, and nothing of the package stays', async () => {
    const { id } = await given()
    const sending = await halfSent(id, 0)
    await act(bridge.ben, id, 'cancel')
    expect(await sending.finish()).toBe(409)
    await expect.poll(() => existsSync(folderOf(id))).toBe(false)
    expect(await look(bridge.ada, id)).toMatchObject({ state: 'cancelled', package: { stored_at: null } })
  })

  test('when the time of the transfer ends is refused, and the bytes go with the next round', async () => {
    const { id } = await given({ ttl_seconds: 60 })
    await putPart(bridge.ada, id, 0, part(0))
    const sending = await halfSent(id, 1)
    bridge.clock.advance(61)
    expect(await sending.finish()).toBe(410)
    // The list writes an expiry down, as the upkeep does.
    await bridge.ada.ok({ target: '/api/v1/transfers' })
    await expect.poll(() => existsSync(folderOf(id))).toBe(false)
    await expect
      .poll(async () => (await look(bridge.ada, id)).package?.removed_at)
      .toEqual(expect.any(String))
  })

  test('when the project is deleted is refused, and nothing of it stays', async () => {
    const { owner } = bridge
    const project = await owner.createProject('short')
    const [from, to] = [await bridge.agent('cy', project.id), await bridge.agent('di', project.id)]
    const { id } = await offer({ from, to, bytes, partSize })
    const sending = await partlySent(from, id, part(0), partSize / 2)
    await expect.poll(() => readdir(folderOf(id)).catch(() => [])).not.toEqual([])
    await owner.ok({ target: `/api/admin/projects/${project.id}/delete`, body: { confirm_name: 'short' } })
    expect(await sending.finish()).toBeGreaterThanOrEqual(401)
    await expect.poll(() => existsSync(folderOf(id))).toBe(false)
  })

  test('when the node stops costs that part alone', async () => {
    const { id } = await given()
    await putPart(bridge.ada, id, 0, part(0))
    const sending = await halfSent(id, 1)
    const restarted = bridge.restart()
    sending.cut()
    bridge = await restarted
    expect(await committed(id)).toEqual([0])
    await putPart(bridge.ada, id, 1, part(1))
    await putPart(bridge.ada, id, 2, part(2))
    expect(told(await finalize(bridge.ada, id))).toEqual([200, undefined])
  })
})

test(`an end that comes with a part, at ${races} moments, leaves no bytes`, {
  timeout: 20_000 + races * 500,
}, async () => {
  const ids: string[] = []
  for (let race = 0; race < races; race += 1) {
    const { id } = await given()
    ids.push(id)
    const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
    // From "both at once" to "the part is written": the end passes over every step of the upload.
    const end = wait((race % 8) / 2).then(() => act(bridge.ben, id, 'cancel'))
    await Promise.all([putPart(bridge.ada, id, 0, part(0)), end])
    await bridge.ada.call({ target: `/api/v1/transfers/${id}/package/status` })
  }
  const stored = async () => (await readdir(join(bridge.data, 'packages'))).filter((id) => ids.includes(id))
  await expect.poll(stored).toEqual([])
})

describe('the sweep at the start', () => {
  /** What a crash leaves between the row that is over and the removal of its bytes. */
  async function putBack(id: string): Promise<void> {
    await mkdir(folderOf(id), { recursive: true, mode: 0o700 })
    await writeFile(join(folderOf(id), 'package'), bytes)
  }
  const accepted = async (): Promise<Transfer> => {
    const transfer = await given()
    await upload(bridge.ada, transfer, bytes)
    await act(bridge.ben, transfer.id, 'accept')
    return transfer
  }

  test('removes what is over, expired or unknown, and nothing of what lives', async () => {
    const live = await accepted()
    const begun = await given()
    await putPart(bridge.ada, begun.id, 1, part(1))
    const verified = await accepted()
    await act(bridge.ben, verified.id, 'receipt', { size: verified.size, sha256: verified.sha256 })
    const cancelled = await accepted()
    await act(bridge.ada, cancelled.id, 'cancel')
    const expired = await given({ ttl_seconds: 60 })
    await upload(bridge.ada, expired, bytes)
    const over = [verified.id, cancelled.id, '01980000-0000-7000-8000-00000000dead']
    for (const id of over) await expect.poll(() => existsSync(folderOf(id))).toBe(false)
    for (const id of over) await putBack(id)
    await mkdir(join(bridge.data, 'packages', 'lost+found'))
    bridge.clock.advance(61)
    bridge = await bridge.restart()
    for (const id of [...over, expired.id]) await expect.poll(() => existsSync(folderOf(id))).toBe(false)
    expect((await look(bridge.ada, expired.id)).state).toBe('expired')
    expect(existsSync(join(bridge.data, 'packages', 'lost+found'))).toBe(true)
    expect(await committed(begun.id)).toEqual([1])
    const target = `/api/v1/transfers/${live.id}/package/file`
    expect((await bridge.ben.call({ target })).bytes.equals(bytes)).toBe(true)
  })

  test('frees the room that was reserved', async () => {
    const small = await startBridge({ settings: { packages_bytes: '300000' } })
    try {
      const first = await offer({ from: small.ada, to: small.ben, bytes, partSize })
      const second = () => offer({ from: small.ada, to: small.ben, bytes, partSize })
      await expect(second()).rejects.toThrow('capacity_reached')
      await act(small.ada, first.id, 'cancel')
      await expect.poll(async () => (await look(small.ada, first.id)).cleanup.service_at).not.toBeNull()
      await second()
    } finally {
      await small.close()
    }
  })
})
