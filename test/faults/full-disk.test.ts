/**
 * The disk of the data folder is full: new data is refused, stored data can be read, and the reserve lets
 * retention run. Afterwards everything works again without a restart.
 *
 * The disk is a separate tmpfs; the tests are skipped if this user may not mount one. BRIDGE_FILLS=20 fills
 * it twenty times, and also tests retention inside a database on a disk that stays full, and starts on a full
 * or read-only disk. Reliability §3.1 F7, F8.
 */
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { reservePath } from '../../server/storage/reserve-file.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { exchange, type Reply } from '../support/http.ts'
import { checkStore } from '../support/invariants.ts'
import { sqliteOnly } from '../support/one-store.ts'
import { onFile } from '../support/sqlite-file.ts'
import { withStoreCopy } from '../support/store-copy.ts'
import { daysAgo } from '../support/tamper.ts'
import { mountSmallDisk, type SmallDisk } from './lab/small-disk.ts'

sqliteOnly('test/faults/postgres/refusals.test.ts')

const mebibyte = 1024 * 1024
const reserve = 4 * mebibyte
/** Too little for the node to create its reserve again after a checkpoint. */
const leftToFill = mebibyte / 2
/** More than the size of the reserve. */
const oldMessages = 80
const fills = Number(process.env.BRIDGE_FILLS ?? 1)

interface Node {
  readonly bridge: TestBridge
  readonly disk: SmallDisk
}

async function nodeOn(skip: (why: string) => never, settings: Record<string, string> = {}): Promise<Node> {
  const path = mkdtempSync(join(tmpdir(), 'bridge-full-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  const disk = mountSmallDisk(path, 48) ?? skip('this user may not mount a tmpfs')
  onTestFinished(() => disk.unmount())
  const data = join(path, 'data')
  mkdirSync(data, { mode: 0o700 })
  const bridge = await startBridge({
    data,
    settings: { reserve_bytes: String(reserve), metrics_port: '0', ...settings },
  })
  onTestFinished(() => bridge.close())
  const { id } = await bridge.owner.createProject('roomy', { policy: { message_budget: 100_000 } })
  const [ada, ben] = [await bridge.agent('ada', id), await bridge.agent('ben', id)]
  return { disk, bridge: { ...bridge, ada, ben } }
}

const told = ({ status, text }: Reply) => [status, (JSON.parse(text) as { error?: string }).error]
const full = [503, 'storage_full']
const ready = async ({ url }: TestBridge) =>
  (await exchange(url, { method: 'GET', target: '/api/ready' })).json as {
    ready: boolean
    checks: Record<string, boolean>
  }
const hasReserve = ({ data }: TestBridge) => existsSync(reservePath(data))
const untilReady = (bridge: TestBridge) =>
  expect.poll(async () => [(await ready(bridge)).ready, hasReserve(bridge)]).toEqual([true, true])

const capabilities = async ({ ada }: TestBridge) =>
  (await ada.ok<{ capabilities: object }>({ target: '/api/v1/bootstrap', session: null })).capabilities

const large = 'x'.repeat(60_000)
const sending = ({ ada, ben }: TestBridge, conversation: string, key: string) =>
  ada.call({
    target: '/api/v1/messages',
    key: `full-disk:${key.replaceAll(' ', '-')}`,
    body: { conversation_id: conversation, recipient_agent_id: ben.id, type: 'note', body: large },
  })

/** Sends until the disk is full; returns the keys answered with 200, and the last answer. */
async function sendUntilFull(bridge: TestBridge, conversation: string, name: string) {
  const sent: { key: string; reply: Reply }[] = []
  for (;;) {
    const key = `${name}-${sent.length}`
    const reply = await sending(bridge, conversation, key)
    if (reply.status !== 200 || sent.length === 500) return { sent, refused: { key, reply } }
    sent.push({ key, reply })
  }
}

async function scrape({ server }: TestBridge, series: string): Promise<number> {
  const { origin } = new URL(server.metricsUrl ?? '')
  const { text } = await exchange(origin, { method: 'GET', target: '/metrics' })
  const line = text.split('\n').find((each) => each.startsWith(`${series} `)) ?? ''
  return Number(line.slice(series.length))
}

test(`a disk that is filled ${fills === 1 ? 'once' : `${fills} times`} refuses new data and nothing else, and works again once there is space`, {
  timeout: 300_000 + fills * 15_000,
}, async ({ skip }) => {
  const { bridge, disk } = await nodeOn(skip)
  const { ada, ben, owner, data } = bridge
  const conversation = await ada.conversationWith(ben.id)
  await untilReady(bridge)
  await forget(bridge)
  for (let round = 0; round < fills; round += 1) {
    disk.fill(leftToFill)
    const { sent, refused } = await sendUntilFull(bridge, conversation, `round-${round}`)
    expect(told(refused.reply)).toEqual(full)
    expect(refused.reply.headers['retry-after']).toBeDefined()
    expect(hasReserve(bridge)).toBe(false)

    expect(await ready(bridge)).toMatchObject({ ready: false, checks: { storage: false, database: true } })
    expect((await exchange(bridge.url, { method: 'GET', target: '/api/health' })).status).toBe(200)
    expect(told(await sending(bridge, conversation, 'another'))).toEqual(full)
    const again = await sending(bridge, conversation, sent[0]?.key ?? '')
    expect([again.text, again.headers['idempotency-replayed']]).toEqual([sent[0]?.reply.text, 'true'])
    const { messages } = await ben.inbox()
    expect(messages.length).toBeGreaterThan(0)
    await ben.acknowledge(...messages.map(({ id }) => id))
    await ada.startSession()
    expect(await capabilities(bridge)).toMatchObject({ inbox: true, packages: false, direct: false })
    const telemetry = await owner.ok<{ storage: object }>({ target: '/api/admin/telemetry' })
    expect(telemetry.storage).toMatchObject({ state: 'full', reserve_bytes: 0 })
    expect(await scrape(bridge, 'bridge_ready{check="storage"}')).toBe(0)
    expect(await scrape(bridge, 'bridge_storage_bytes{kind="reserve"}')).toBe(0)

    disk.empty()
    await untilReady(bridge)
    expect(await capabilities(bridge)).toMatchObject({ packages: true, direct: true })
    expect((await sending(bridge, conversation, refused.key)).status).toBe(200)
    const ids = sent.map(({ reply }) => (reply.json as { message: { id: string } }).message.id)
    expect(storedOf(data, ids)).toBe(ids.length)
    expect(await scrape(bridge, 'bridge_storage_bytes{kind="reserve"}')).toBe(reserve)
    expect(wrongIn(data)).toEqual([])
    await forget(bridge)
  }
  expect(await scrape(bridge, 'bridge_write_groups_failed_total{reason="full"}')).toBeGreaterThanOrEqual(
    fills,
  )
})

/** Returns the faults of the store, except those that {@link forget} causes on purpose. */
const wrongIn = (data: string) =>
  withStoreCopy(data, checkStore).filter((each) => !each.startsWith('each message sent has one audit record'))

const storedOf = (data: string, ids: readonly string[]) =>
  onFile(data, (db) =>
    db
      .prepare('SELECT count(*) FROM messages WHERE id IN (SELECT value FROM json_each(?))')
      .pluck()
      .get(JSON.stringify(ids)),
  )

/** Makes every message so far appear sent and read long ago. */
async function forget({ data, ben }: TestBridge): Promise<void> {
  for (;;) {
    const { messages } = await ben.inbox()
    if (messages.length === 0) break
    await ben.acknowledge(...messages.map(({ id }) => id))
  }
  onFile(data, (db) => {
    db.prepare('UPDATE messages SET created_at = ?, acknowledged_at = ?').run(daysAgo(120), daysAgo(110))
    // Records about the messages are removed before the messages.
    db.prepare("DELETE FROM audit WHERE kind = 'message.sent'").run()
    db.prepare('UPDATE idempotency SET created_at = ?').run(daysAgo(110))
    db.pragma('wal_checkpoint(TRUNCATE)')
  })
}

/** Skips the test with the way to run it. */
const onlyInFull = (skip: (why: string) => never) => {
  if (fills === 1) skip('BRIDGE_FILLS=20 shows it')
}

test('retention frees space inside the database of a disk that stays full, and writing works again', async ({
  skip,
}) => {
  onlyInFull(skip)
  const { bridge, disk } = await nodeOn(skip)
  const { ada, ben, data } = bridge
  const conversation = await ada.conversationWith(ben.id)
  await untilReady(bridge)
  for (let index = 0; index < oldMessages; index += 1) await sending(bridge, conversation, `old-${index}`)
  await forget(bridge)
  disk.fill()
  const { refused } = await sendUntilFull(bridge, conversation, 'new')
  expect(told(refused.reply)).toEqual(full)
  await expect.poll(async () => (await ready(bridge)).ready).toBe(true)
  expect(hasReserve(bridge)).toBe(false)
  expect((await sending(bridge, conversation, refused.key)).status).toBe(200)
  const removed = onFile(data, (db) =>
    db.prepare('SELECT max(removed_through_sequence) FROM conversations').pluck().get(),
  )
  expect(removed).toBe(oldMessages)
  expect(await scrape(bridge, 'bridge_maintenance_rows_total{job="messages_removed"}')).toBe(oldMessages)
  expect(wrongIn(data)).toEqual([])
})

test('a server starts on a full disk, removes its reserve for that, and serves the stored data', async ({
  skip,
}) => {
  onlyInFull(skip)
  const { bridge, disk } = await nodeOn(skip)
  const { ada, ben } = bridge
  const conversation = await ada.conversationWith(ben.id)
  await ada.send(conversation, ben.id, 'before')
  await untilReady(bridge)
  await bridge.server.stop()
  disk.fill()
  const restarted = await bridge.restart()
  onTestFinished(() => restarted.server.stop())
  expect(hasReserve(bridge)).toBe(false)
  expect(await ready(restarted)).toMatchObject({ ready: false, checks: { storage: false } })
  expect((await ben.inbox()).messages.map(({ body }) => body)).toEqual(['before'])
  expect(told(await sending(bridge, conversation, 'while full'))).toEqual(full)
  disk.empty()
  await untilReady(restarted)
  expect((await sending(bridge, conversation, 'while full')).status).toBe(200)
})

test('without a reserve, a request whose nonce cannot be stored is refused instead of answered; with free space it is answered', async ({
  skip,
}) => {
  const { bridge, disk } = await nodeOn(skip, { reserve_bytes: '0' })
  const { ada, ben, data } = bridge
  const conversation = await ada.conversationWith(ben.id)
  disk.fill()
  expect(told((await sendUntilFull(bridge, conversation, 'note')).refused.reply)).toEqual(full)
  const nonces = () => onFile(data, (db) => db.prepare('SELECT count(*) FROM nonces').pluck().get() as number)
  const read = () => ada.call({ target: `/api/v1/conversations/${conversation}/messages` })
  let refused = 0
  for (let attempt = 0; attempt < 2000 && refused < 20; attempt += 1) {
    const before = nonces()
    const reply = await read()
    if (reply.status === 200) expect(nonces()).toBe(before + 1)
    else {
      expect(told(reply)).toEqual(full)
      expect(nonces()).toBe(before)
      refused += 1
    }
  }
  expect(refused).toBe(20)
  expect(await ready(bridge)).toMatchObject({ ready: false, checks: { storage: false } })
  disk.empty()
  expect((await read()).status).toBe(200)
  expect(await ready(bridge)).toMatchObject({ ready: true })
})

test('a running server keeps its disk writable; on a read-only disk none starts, and nothing is lost', async ({
  skip,
}) => {
  onlyInFull(skip)
  const { bridge, disk } = await nodeOn(skip, { reserve_bytes: '0' })
  const { ada, ben } = bridge
  const conversation = await ada.conversationWith(ben.id)
  expect(disk.remount('ro')).toBe(false)
  await ada.send(conversation, ben.id, 'before')
  await bridge.server.stop()
  expect(disk.remount('ro')).toBe(true)
  await expect(bridge.restart()).rejects.toMatchObject({ code: 'EROFS' })
  expect(disk.remount('rw')).toBe(true)
  const restarted = await bridge.restart()
  onTestFinished(() => restarted.server.stop())
  expect((await ben.inbox()).messages.map(({ body }) => body)).toEqual(['before'])
})
