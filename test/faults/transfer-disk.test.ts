/**
 * The disk of the packages, full: an upload is refused before it is, loses nothing, and goes on when there is room again; the
 * rest of the node, on another disk, does not notice.
 *
 * On a tmpfs of its own; skipped where this user may not mount one. Contract §9 "`storage_full`".
 */
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { act, fileOf, finalize, look, offer, partlySent, putPart, told, upload } from '../support/files.ts'
import { exchange } from '../support/http.ts'
import { mountSmallDisk, type SmallDisk } from './small-disk.ts'

const mebibyte = 1024 * 1024
const spare = mebibyte
let bridge: TestBridge
let disk: SmallDisk | undefined

beforeAll(async () => {
  bridge = await startBridge({ settings: { package_spare_bytes: String(spare) } })
  disk = mountSmallDisk(join(bridge.data, 'packages'), 12)
})
afterEach(() => disk?.empty())
afterAll(async () => {
  disk?.unmount()
  await bridge.close()
})

const bytes = fileOf(5 * mebibyte)
const part = (index: number) => bytes.subarray(index * mebibyte, (index + 1) * mebibyte)
const given = (of = bytes) => offer({ from: bridge.ada, to: bridge.ben, bytes: of, partSize: mebibyte })
const status = (id: string) =>
  bridge.ada.ok<{ committed_parts: number[] }>({ target: `/api/v1/transfers/${id}/package/status` })
const isOver = async (id: string) => {
  await act(bridge.ada, id, 'cancel')
  await expect.poll(async () => (await look(bridge.ada, id)).cleanup.service_at).not.toBeNull()
}

/** The disk, or the word why there is none. */
function small(skip: (why: string) => never): SmallDisk {
  return disk ?? skip('this user may not mount a tmpfs')
}

const full = [503, 'storage_full']

test('a package that does not fit is refused at its first part, and takes nothing', async ({ skip }) => {
  const { freeBytes } = small(skip)
  const before = freeBytes()
  const large = fileOf(20 * mebibyte)
  const { id } = await given(large)
  expect(told(await putPart(bridge.ada, id, 0, large.subarray(0, mebibyte)))).toEqual(full)
  expect(before - freeBytes()).toBeLessThan(mebibyte / 4)
  await isOver(id)
})

test('two that fit one by one do not fill the disk together: the first is finished, the second waits', async ({
  skip,
}) => {
  const { freeBytes, fill } = small(skip)
  fill(8 * mebibyte)
  const first = await given()
  const second = await given()
  expect(told(await putPart(bridge.ada, first.id, 0, part(0)))).toEqual([200, undefined])
  expect(told(await putPart(bridge.ada, second.id, 0, part(0)))).toEqual(full)
  await upload(bridge.ada, first, bytes)
  expect(freeBytes()).toBeGreaterThanOrEqual(spare)
  await isOver(first.id)
  await upload(bridge.ada, second, bytes)
  await isOver(second.id)
})

test('a full disk stops uploads alone; what is there is fetched, and the upload goes on when there is room', async ({
  skip,
}) => {
  const { fill, empty } = small(skip)
  const there = await given(fileOf(mebibyte))
  await upload(bridge.ada, there, fileOf(mebibyte))
  await act(bridge.ben, there.id, 'accept')
  const begun = await given()
  await putPart(bridge.ada, begun.id, 0, part(0))
  fill()
  expect(told(await putPart(bridge.ada, begun.id, 1, part(1)))).toEqual(full)

  expect((await exchange(bridge.url, { method: 'GET', target: '/api/ready' })).status).toBe(200)
  const conversation = await bridge.ada.conversationWith(bridge.ben.id)
  await bridge.ada.send(conversation, bridge.ben.id, 'is there room?')
  expect((await bridge.ben.inbox()).messages.at(-1)?.body).toBe('is there room?')
  const file = await bridge.ben.call({ target: `/api/v1/transfers/${there.id}/package/file` })
  expect(file.bytes.equals(fileOf(mebibyte))).toBe(true)
  const { size, sha256 } = there
  expect(told(await act(bridge.ben, there.id, 'receipt', { size, sha256 }))).toEqual([200, undefined])

  expect((await status(begun.id)).committed_parts).toEqual([0])
  empty()
  for (const index of [1, 2, 3, 4]) await putPart(bridge.ada, begun.id, index, part(index))
  expect(told(await finalize(bridge.ada, begun.id))).toEqual([200, undefined])
  await isOver(begun.id)
})

test('a disk that others fill while a part comes keeps nothing of it', async ({ skip }) => {
  const { freeBytes, fill, empty } = small(skip)
  const { id } = await offer({ from: bridge.ada, to: bridge.ben, bytes, partSize: 3 * mebibyte })
  const before = freeBytes()
  const body = bytes.subarray(0, 3 * mebibyte)
  const begun = await partlySent(bridge.ada, id, body, 2 * mebibyte)
  await expect.poll(() => before - freeBytes()).toBeGreaterThanOrEqual(mebibyte)
  fill()
  expect(await begun.finish()).toBe(503)
  expect((await status(id)).committed_parts).toEqual([])
  empty()
  expect(told(await putPart(bridge.ada, id, 0, body))).toEqual([200, undefined])
  await isOver(id)
})
