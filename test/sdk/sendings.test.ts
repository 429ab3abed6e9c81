/**
 * The local files of uploads and downloads: claimed by one process, reused, or removed. Contract §9, cleanup.
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ReceivingNote, tidyReceivings } from '../../sdk/transfers/local/receiving-note.ts'
import {
  type Abandoned,
  isForgotten,
  type Sending,
  SendingFolder,
  tidySendings,
} from '../../sdk/transfers/local/sending-folder.ts'

let keep: string
beforeEach(async () => {
  keep = await mkdtemp(join(tmpdir(), 'bridge-keep-'))
})
afterEach(() => rm(keep, { recursive: true, force: true }))

const now = new Date('2026-01-10T00:00:00Z')
const daysAgo = (days: number) => new Date(now.getTime() - days * 86_400_000)
const open = '01980000-0000-7000-8000-00000000000a'
const over = '01980000-0000-7000-8000-00000000000b'
const isOver = async (id: string) => id === over
const isGone = async (abandoned: Abandoned | undefined) =>
  abandoned === undefined ||
  isForgotten(abandoned, now) ||
  abandoned.transfer_id === null ||
  (await isOver(abandoned.transfer_id))
const sending: Sending = {
  path: '/report.pdf',
  file: '1:2:3:4',
  recipient_agent_id: 'ben',
  sealed_to: null,
  filename: 'report.pdf',
  mode: 'direct',
  ttl_seconds: null,
}
const places = () => readdir(join(keep, 'sending')).catch(() => [])
const same = (place: SendingFolder) => place.isOf(sending)

/** The id of a process that has ended. */
const deadPid = () => spawnSync('true').pid

/** An upload whose process has ended. */
async function abandoned(transferId?: string, at = now, fields: Partial<Sending> = {}): Promise<void> {
  const place = await SendingFolder.begin(keep, { ...sending, ...fields }, 'key-of-offer', at)
  await writeFile(place.draft, 'bytes')
  await place.keepDraft()
  if (transferId !== undefined) await place.offered(transferId)
  const [name = ''] = (await places()).filter((one) => one.startsWith(`${process.pid}-`))
  await rename(join(keep, 'sending', name), join(keep, 'sending', name.replace(/^\d+/, String(deadPid()))))
  place.release()
}

test('the upload of a dead process is found once, with its key, its transfer and its bytes', async () => {
  await abandoned(open)
  const place = await SendingFolder.find(keep, same)
  expect([place?.transferId, place?.idempotencyKey]).toEqual([open, 'key-of-offer'])
  expect(existsSync(place?.bytes ?? '')).toBe(true)
  expect(((await stat(join(keep, 'sending'))).mode & 0o777).toString(8)).toBe('700')
  expect(await SendingFolder.find(keep, same)).toBeUndefined()
  place?.release()
  const again = await SendingFolder.find(keep, same)
  expect(again?.transferId).toBe(open)
  await again?.remove()
  expect(await places()).toEqual([])
})

test('of two processes that look simultaneously one claims it', async () => {
  await abandoned(open)
  const found = await Promise.all([SendingFolder.find(keep, same), SendingFolder.find(keep, same)])
  expect(found.filter((place) => place !== undefined)).toHaveLength(1)
})

test.each<[keyof Sending, Partial<Sending>]>([
  ['file', { file: '1:2:3:5' }],
  ['recipient_agent_id', { recipient_agent_id: 'cleo' }],
  ['sealed_to', { sealed_to: 'age1other' }],
  ['filename', { filename: 'other.pdf' }],
  ['mode', { mode: 'package' }],
  ['ttl_seconds', { ttl_seconds: 60 }],
])('another %s means another upload', async (_, fields) => {
  await abandoned(open, now, fields)
  expect(await SendingFolder.find(keep, same)).toBeUndefined()
})

test('files in use are neither found nor removed', async () => {
  const place = await SendingFolder.begin(keep, sending, 'key-of-offer', now)
  expect(await SendingFolder.find(keep, same)).toBeUndefined()
  await tidySendings(keep, async () => true)
  expect(await places()).toHaveLength(1)
  await place.remove()
})

test('files that are claimed while their state is requested stay', async () => {
  await abandoned(open)
  let place: SendingFolder | undefined
  await tidySendings(keep, async () => {
    place = await SendingFolder.find(keep, same)
    return true
  })
  expect(existsSync(place?.bytes ?? '')).toBe(true)
  await place?.remove()
})

test('files of uploads that were never offered, have ended, are too old or invalid are removed; resumable ones stay', async () => {
  await abandoned(open)
  await abandoned(undefined)
  await abandoned(over)
  await abandoned(open, daysAgo(8))
  await mkdir(join(keep, 'sending', `${deadPid()}-empty`))
  await tidySendings(keep, isGone)
  expect(await places()).toHaveLength(1)
  expect((await SendingFolder.find(keep, same))?.transferId).toBe(open)
})

test('files that a dead recipient left beside a destination are removed once its transfer has ended, and no other files', async () => {
  const begun = async (id: string) => {
    const receiving = new ReceivingNote(id, join(keep, 'inbox.pdf'), keep)
    await receiving.begin()
    await mkdir(receiving.staging)
    return receiving
  }
  const live = await begun(open)
  const dead = await begun(over)
  const elsewhere = join(keep, 'precious')
  await mkdir(elsewhere)
  await writeFile(
    join(keep, 'receiving', `${over}.0000000000000000.json`),
    JSON.stringify({ staging: elsewhere }),
  )
  await tidyReceivings(keep, isOver)
  expect([live.staging, dead.staging, elsewhere].map((path) => existsSync(path))).toEqual([true, false, true])
  expect(await readdir(join(keep, 'receiving'))).toHaveLength(1)
})

test('the published file is recognised, and another file in its place is not', async () => {
  const receiving = new ReceivingNote(open, join(keep, 'inbox.pdf'), keep)
  await receiving.begin()
  await writeFile(join(keep, 'inbox.pdf'), 'plain')
  const file = await stat(join(keep, 'inbox.pdf'), { bigint: true })
  expect(await receiving.hasPublished(file)).toBe(false)
  await receiving.published(file)
  expect(await receiving.hasPublished(file)).toBe(true)
  expect(await receiving.hasPublished({ ...file, ino: file.ino + 1n })).toBe(false)
  await receiving.forget()
  expect(await receiving.hasPublished(file)).toBe(false)
})
