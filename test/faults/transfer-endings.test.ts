/**
 * Transfers that end while their bytes move: cancelled, expired, deleted or stopped in the middle of a part.
 * All bytes of an ended transfer are removed, and all bytes of a live one are kept. If the disk is almost
 * full, an upload is refused before it fills the disk, loses nothing, and resumes once there is space. The
 * rest of the node, on another disk, is not affected.
 *
 * BRIDGE_RACES=400 sets the number of ends that race with a part. Contract §9 "bytes removed",
 * "`storage_full`".
 */
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Transfer } from '../../sdk/contract/agent/transfers.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import {
  act,
  fileOf,
  finalize,
  look,
  offer,
  offerBody,
  partlySent,
  putPart,
  told,
  upload,
} from '../support/files.ts'

import { exchange } from '../support/http.ts'
import { mountSmallDisk, type SmallDisk } from './lab/small-disk.ts'

const races = Number(process.env.BRIDGE_RACES ?? 8)

let bridge: TestBridge
/** The limit of all packages: more than these tests leave open. */
const nodeBytes = 32 * 1024 * 1024
const spare = 1024 * 1024
let disk: SmallDisk | undefined
const bytes = fileOf(300_000)
const partSize = 100_000
const part = (index: number) => bytes.subarray(index * partSize, (index + 1) * partSize)

beforeAll(async () => {
  const room = { packages_bytes: String(nodeBytes), sender_packages_bytes: String(nodeBytes) }
  const settings = { ...room, package_spare_bytes: String(spare) }
  bridge = await startBridge({ settings })
  disk = mountSmallDisk(join(bridge.data, 'packages'), 12)
})
afterAll(async () => {
  disk?.unmount()
  await bridge.close()
})

const folderOf = (id: string) => join(bridge.data, 'packages', id)
const given = (fields: object = {}) => offer({ from: bridge.ada, to: bridge.ben, bytes, partSize, fields })
const committed = async (id: string) =>
  (
    await bridge.ada.ok<{ committed_parts: number[] }>({
      target: `/api/v1/transfers/${id}/package/status`,
    })
  ).committed_parts

/** Sends the first half of a part. */
async function halfSent(id: string, index: number) {
  const sending = await partlySent(bridge.ada, id, part(index), partSize / 2, index)
  await expect.poll(() => readdir(folderOf(id)).catch(() => [])).not.toEqual([])
  return sending
}

describe('a part in flight', () => {
  test('is refused when the transfer is cancelled, and no byte of the package stays', async () => {
    const { id } = await given()
    const sending = await halfSent(id, 0)
    await act(bridge.ben, id, 'cancel')
    expect(await sending.finish()).toBe(409)
    await expect.poll(() => existsSync(folderOf(id))).toBe(false)
    expect(await look(bridge.ada, id)).toMatchObject({ state: 'cancelled', package: { stored_at: null } })
  })

  test('is refused when the transfer expires, and the bytes are deleted in the next round', async () => {
    const { id } = await given({ ttl_seconds: 60 })
    await putPart(bridge.ada, id, 0, part(0))
    const sending = await halfSent(id, 1)
    bridge.clock.advance(61)
    expect(await sending.finish()).toBe(410)
    // The list stores an expiry, as maintenance does.
    await bridge.ada.ok({ target: '/api/v1/transfers' })
    await expect.poll(() => existsSync(folderOf(id))).toBe(false)
    await expect
      .poll(async () => (await look(bridge.ada, id)).package?.removed_at)
      .toEqual(expect.any(String))
  })

  test('is refused when the project is deleted, and nothing of it stays', async () => {
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

  test('is the only part lost when the node stops', async () => {
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

test(`an end that races with a part, at ${races} moments, leaves no bytes and frees their space immediately`, {
  timeout: 300_000 + races * 500,
}, async () => {
  const ids: string[] = []
  for (let race = 0; race < races; race += 1) {
    const { id } = await given()
    ids.push(id)
    const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
    // From "both simultaneously" to "the part is written": the end occurs at every step of the upload.
    const end = wait((race % 8) / 2).then(() => act(bridge.ben, id, 'cancel'))
    await Promise.all([putPart(bridge.ada, id, 0, part(0)), end])
    await bridge.ada.call({ target: `/api/v1/transfers/${id}/package/status` })
  }
  const stored = async () => (await readdir(join(bridge.data, 'packages'))).filter((id) => ids.includes(id))
  await expect.poll(stored).toEqual([])
  for (const id of ids)
    await expect.poll(async () => (await look(bridge.ada, id)).cleanup.service_at).not.toBeNull()
})

/** A tmpfs for the packages of this node, if this user may mount one. */
describe('a full disk of the packages', () => {
  const mebibyte = 1024 * 1024
  const large = randomBytes(5 * mebibyte)
  const megabyte = (index: number) => large.subarray(index * mebibyte, (index + 1) * mebibyte)
  const offered: string[] = []
  const fitting = async (of = large, size = mebibyte) => {
    const transfer = await offer({ from: bridge.ada, to: bridge.ben, bytes: of, partSize: size })
    offered.push(transfer.id)
    return transfer
  }
  const status = async (id: string) => ({ committed_parts: await committed(id) })
  const isOver = async (id: string) => {
    await act(bridge.ada, id, 'cancel')
    await expect.poll(async () => (await look(bridge.ada, id)).cleanup.service_at).not.toBeNull()
  }
  /** A failing test leaves no transfer to the next one. */
  afterEach(async () => {
    disk?.empty()
    for (const id of offered.splice(0)) await act(bridge.ada, id, 'cancel')
  })

  /** Returns the disk, or skips with the reason why there is none. */
  function small(skip: (why: string) => never): SmallDisk {
    return disk ?? skip('this user may not mount a tmpfs')
  }

  const full = [503, 'storage_full']

  test('refuses a package that does not fit at its first part, without storing anything', async ({
    skip,
  }) => {
    const { freeBytes } = small(skip)
    const before = freeBytes()
    const tooLarge = Buffer.alloc(20 * mebibyte)
    const { id } = await fitting(tooLarge)
    expect(told(await putPart(bridge.ada, id, 0, tooLarge.subarray(0, mebibyte)))).toEqual(full)
    expect(before - freeBytes()).toBeLessThan(mebibyte / 4)
    await isOver(id)
  })

  test('is not caused by two packages that fit one at a time: the first is finished, the second waits', async ({
    skip,
  }) => {
    const { freeBytes, fill } = small(skip)
    fill(8 * mebibyte)
    const first = await fitting()
    const second = await fitting()
    expect(told(await putPart(bridge.ada, first.id, 0, megabyte(0)))).toEqual([200, undefined])
    expect(told(await putPart(bridge.ada, second.id, 0, megabyte(0)))).toEqual(full)
    await upload(bridge.ada, first, large)
    expect(freeBytes()).toBeGreaterThanOrEqual(spare)
    await isOver(first.id)
    await upload(bridge.ada, second, large)
    await isOver(second.id)
  })

  test('stops uploads only: stored packages can be downloaded, and the upload resumes once there is space', async ({
    skip,
  }) => {
    const { fill, empty } = small(skip)
    const stored = megabyte(0)
    const there = await fitting(stored)
    await upload(bridge.ada, there, stored)
    await act(bridge.ben, there.id, 'accept')
    const begun = await fitting()
    await putPart(bridge.ada, begun.id, 0, megabyte(0))
    fill()
    expect(told(await putPart(bridge.ada, begun.id, 1, megabyte(1)))).toEqual(full)

    expect((await exchange(bridge.url, { method: 'GET', target: '/api/ready' })).status).toBe(200)
    const conversation = await bridge.ada.conversationWith(bridge.ben.id)
    const { sequence } = await bridge.ada.send(conversation, bridge.ben.id, 'is there room?')
    const target = `/api/v1/conversations/${conversation}/messages?after_sequence=${sequence - 1}`
    const { messages } = await bridge.ben.ok<{ messages: { body: string }[] }>({ target })
    expect(messages.at(-1)?.body).toBe('is there room?')
    const file = await bridge.ben.call({ target: `/api/v1/transfers/${there.id}/package/file` })
    expect(file.bytes.equals(stored)).toBe(true)
    const { size, sha256 } = there
    expect(told(await act(bridge.ben, there.id, 'receipt', { size, sha256 }))).toEqual([200, undefined])

    expect((await status(begun.id)).committed_parts).toEqual([0])
    empty()
    for (const index of [1, 2, 3, 4]) await putPart(bridge.ada, begun.id, index, megabyte(index))
    expect(told(await finalize(bridge.ada, begun.id))).toEqual([200, undefined])
    await isOver(begun.id)
  })

  test('keeps no byte of a part if other programs fill the disk during the part', async ({ skip }) => {
    const { freeBytes, fill, empty } = small(skip)
    const { id } = await fitting(large, 3 * mebibyte)
    const before = freeBytes()
    const body = large.subarray(0, 3 * mebibyte)
    const begun = await partlySent(bridge.ada, id, body, 2 * mebibyte)
    await expect.poll(() => before - freeBytes()).toBeGreaterThanOrEqual(mebibyte)
    fill()
    expect(await begun.finish()).toBe(503)
    expect((await status(id)).committed_parts).toEqual([])
    empty()
    expect(told(await putPart(bridge.ada, id, 0, body))).toEqual([200, undefined])
    await isOver(id)
  })
})

describe('the clean-up at the start', () => {
  /** Restores the state that a crash leaves between storing the end and removing the bytes. */
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

  test('removes ended, expired and unknown packages, and no live one', async () => {
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

  test('frees the reserved space of every ended transfer', async () => {
    const room = async () =>
      (await bridge.ada.call({ target: '/api/v1/transfers', body: await large() })).status
    const large = () =>
      offerBody({ from: bridge.ada, to: bridge.ben, bytes: Buffer.alloc(nodeBytes - 4_000_000) })
    expect(await room()).toBe(200)
    expect(await room()).toBe(503)
    const { transfers } = await bridge.ada.ok<{ transfers: Transfer[] }>({
      target: '/api/v1/transfers?state=offered&limit=100',
    })
    const id = transfers.find(({ size }) => size === nodeBytes - 4_000_000)?.id ?? ''
    await act(bridge.ada, id, 'cancel')
    await expect.poll(async () => (await look(bridge.ada, id)).cleanup.service_at).not.toBeNull()
    expect(await room()).toBe(200)
  })
})
