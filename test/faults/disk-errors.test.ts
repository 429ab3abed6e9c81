/**
 * A failing disk: the outcome of a write is unknown, so the server answers 503 and exits. Repeating the
 * request with the same key gives the outcome. A log file that cannot be written is no such failure.
 *
 * BRIDGE_DISK_ERRORS=50 makes each of the first fifty syncs and writes fail, one after the other, and the
 * disk read-only; the server must then exit within two seconds. Contract §2 "Group commit"; reliability §3.1
 * F5, F6, F8.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { databasePath } from '../../server/storage/data-folder.ts'
import { exchange, type Reply } from '../support/http.ts'
import { checkStore } from '../support/invariants.ts'
import { sqliteOnly } from '../support/one-store.ts'
import { type People, settlePeople } from '../support/people.ts'
import { type ServerProcess, startServerProcess } from '../support/process.ts'
import { withStoreCopy } from '../support/store-copy.ts'
import { attach, canTrace } from '../support/strace.ts'
import { mountSmallDisk, type SmallDisk } from './lab/small-disk.ts'

sqliteOnly('test/faults/postgres/refusals.test.ts')

const positions = Number(process.env.BRIDGE_DISK_ERRORS ?? 0)
const endsWithinMs = 2000

let server: ServerProcess
let people: People
let conversation: string
let disk: SmallDisk | undefined
const folder = mkdtempSync(join(tmpdir(), 'bridge-disk-'))
const log = join(folder, 'small', 'log')

beforeAll(async () => {
  disk = mountSmallDisk(join(folder, 'small'), 1)
  server = await startServerProcess({ settings: { log_level: 'info' }, errorsTo: disk && log })
  people = await settlePeople(server, { message_budget: 100_000 })
  conversation = await people.ada.conversationWith(people.ben.id)
})
afterAll(async () => {
  await server?.close()
  disk?.unmount()
  rmSync(folder, { recursive: true, force: true })
})

const send = (key: string) => {
  const body = { conversation_id: conversation, recipient_agent_id: people.ben.id, type: 'note', body: key }
  return people.ada.call({ target: '/api/v1/messages', body, key }).catch(() => undefined)
}

test('a log file on a full disk stops nothing, and is written again once there is space', async ({
  skip,
}) => {
  const small = disk ?? skip('this user may not mount a tmpfs')
  small.fill()
  const before = readFileSync(log, 'utf8').length
  const lost: string[] = []
  // The remaining space of the last page takes a few lines.
  for (let index = 0; index < 40; index += 1) {
    const { status, headers } = await people.ada.call({ target: '/api/v1/peers' })
    expect(status).toBe(200)
    lost.push(String(headers['x-request-id']))
  }
  expect(readFileSync(log, 'utf8').length - before).toBeLessThan(4096)
  small.empty()
  const told = String((await send('log-has-room'))?.headers['x-request-id'])
  await expect.poll(() => readFileSync(log, 'utf8')).toContain(told)
  const written = readFileSync(log, 'utf8')
  expect(lost.slice(-10, -1).filter((id) => written.includes(id))).toEqual([])
})

interface DiskFault {
  readonly what: string
  /** Makes the disk fail from the next writes on; the returned function ends that. */
  arm(): Promise<() => Promise<void>>
}

const injected = (calls: string, error: string, nth: number): DiskFault => ({
  what: `${error} at ${calls} ${nth}`,
  async arm() {
    const inject = `inject=${calls}:error=${error}:when=${nth}+`
    const wal = `${databasePath(server.data)}-wal`
    const tracer = await attach(server.pid, ['-P', wal, '-e', inject, '-o', '/dev/null'])
    return () => tracer.detach()
  },
})

/** A write to the WAL that accepts only the first bytes of a page, followed by one that accepts none. */
const shortWrite: DiskFault = {
  what: 'a short write',
  async arm() {
    const { size } = statSync(`${databasePath(server.data)}-wal`)
    const pid = String(server.pid)
    const { status } = spawnSync('prlimit', ['--pid', pid, `--fsize=${size + 5000}`])
    expect(status).toBe(0)
    return async () => {}
  },
}
const canLimit = spawnSync('prlimit', ['--version']).status === 0

const syncs = 'fsync,fdatasync'
const numbers = Array.from({ length: positions }, (_, index) => index + 1)
const faults: readonly DiskFault[] = [
  ...(canTrace ? [injected(syncs, 'EIO', 2), injected('pwrite64', 'EIO', 30)] : []),
  ...(canLimit ? [shortWrite] : []),
  ...(positions > 0 && canTrace ? [injected('pwrite64', 'EROFS', 12)] : []),
  ...numbers.flatMap((nth) => [injected(syncs, 'EIO', nth), injected('pwrite64', 'EIO', nth)]),
]

test.skipIf(faults.length === 0)(
  'when the disk fails, the server reports it, is not ready, and exits 1; each key has one effect after a restart',
  { timeout: 300_000 + faults.length * 10_000 },
  async () => {
    const slowest = { ms: 0 }
    for (const [index, fault] of faults.entries()) await failing(fault, `fault-${index}`, slowest)
    if (positions > 0) {
      process.stderr.write(`${faults.length} faults; the slowest end took ${Math.round(slowest.ms)} ms\n`)
      expect(slowest.ms).toBeLessThan(endsWithinMs)
    }
  },
)

async function failing(fault: DiskFault, name: string, slowest: { ms: number }): Promise<void> {
  const disarm = await fault.arm()
  const replies: (Reply | undefined)[] = []
  let failedAtMs = performance.now()
  try {
    while (replies.at(-1)?.status === 200 || replies.length === 0) {
      replies.push(await send(`${name}-${replies.length}`))
      failedAtMs = performance.now()
    }
    // The server may have exited by then, but it must not report that it is ready.
    const ready = await exchange(server.url, { method: 'GET', target: '/api/ready' }).catch(() => undefined)
    expect([fault.what, ready === undefined || ready.status === 503]).toEqual([fault.what, true])
    expect([fault.what, await server.ended]).toEqual([fault.what, { code: 1, signal: null }])
    slowest.ms = Math.max(slowest.ms, performance.now() - failedAtMs)
  } finally {
    await disarm()
  }
  expect([fault.what, replies.at(-1)?.status]).toEqual([fault.what, 503])
  const answered = replies.flatMap((reply) => (reply?.status === 200 ? [idOf(reply)] : []))
  expect([fault.what, withStoreCopy(server.data, checkStore)]).toEqual([fault.what, []])
  expect([fault.what, withStoreCopy(server.data, (db) => lost(db, answered))]).toEqual([fault.what, []])
  await server.start()
  await sameAgain(fault, name, replies)
}

const idOf = (reply: Reply): string => (reply.json as { message: { id: string } }).message.id

const lost = (database: Parameters<typeof checkStore>[0], ids: readonly string[]) =>
  ids.filter((id) => database.prepare('SELECT 1 FROM messages WHERE id = ?').get(id) === undefined)

/** Repeats every key: answered requests get the same bytes, and each key has one message. */
async function sameAgain(fault: DiskFault, name: string, replies: readonly (Reply | undefined)[]) {
  for (const [index, reply] of replies.entries()) {
    const again = await send(`${name}-${index}`)
    expect([fault.what, again?.status]).toEqual([fault.what, 200])
    if (reply?.status === 200) expect(again?.text).toBe(reply.text)
  }
  const stored = withStoreCopy(server.data, (db) =>
    db.prepare<string>('SELECT body FROM messages WHERE body LIKE ?').pluck().all(`${name}-%`),
  )
  expect([fault.what, stored.sort()]).toEqual([
    fault.what,
    replies.map((_, index) => `${name}-${index}`).sort(),
  ])
}

/** More than the WAL contains before a checkpoint. */
const foldingBytes = 24 * 1024 * 1024

test('a failing checkpoint stops nothing and loses nothing, because the WAL keeps the data until one succeeds', {
  timeout: 300_000,
}, async ({ skip }) => {
  if (positions === 0 || !canTrace) skip('BRIDGE_DISK_ERRORS=50 shows it, where strace may attach')
  const tracer = await attach(server.pid, [
    ...['-P', databasePath(server.data), '-e', `inject=${syncs}:error=EIO`],
    ...['-o', join(folder, 'trace')],
  ])
  const ids: string[] = []
  const body = 'x'.repeat(60_000)
  const fields = { conversation_id: conversation, recipient_agent_id: people.ben.id, type: 'note', body }
  for (let sent = 0; sent < foldingBytes; sent += 2 * body.length)
    ids.push(idOf(await people.ada.call({ target: '/api/v1/messages', body: fields })))
  await tracer.detach()
  expect(readFileSync(join(folder, 'trace'), 'utf8')).toContain('EIO')
  await server.kill()
  expect(withStoreCopy(server.data, checkStore)).toEqual([])
  expect(withStoreCopy(server.data, (db) => lost(db, ids))).toEqual([])
  await server.start()
})
