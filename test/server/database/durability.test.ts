/** The writes that reach the disk before an answer, observed from outside by strace. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { startChild } from './child.ts'
import { temporaryFolder } from './store.ts'

const strace = '/usr/bin/strace'
const traced = existsSync(strace) ? test : test.skip
if (!existsSync(strace))
  process.stderr.write('strace is absent: the order of syncs and answers is not checked here\n')

const writes = 20

/** Counts the answers sent after an unsynced WAL write, and those sent after any WAL write. */
async function audit(
  ...args: readonly string[]
): Promise<{ answers: number; unsynced: number; empty: number }> {
  const folder = temporaryFolder()
  const log = join(folder, 'trace')
  const wrap = [strace, '-f', '-y', '-qq', '-e', 'trace=pwrite64,fdatasync,fsync,write', '-o', log]
  const child = startChild('write.ts', [join(folder, 'bridge.db'), String(writes), ...args], wrap)
  for (let index = 0; index < writes; index += 1) expect(await child.next()).toMatch(/^stored /)
  expect(await child.ended()).toBe(0)
  const found = { answers: 0, unsynced: 0, empty: 0 }
  let wal: 'untouched' | 'written' | 'synced' = 'untouched'
  for (const line of readFileSync(log, 'utf8').split('\n')) {
    if (/pwrite64\(\d+<[^>]*-wal>/.test(line)) wal = 'written'
    // The sync runs on another thread: it starts on one line of the trace and ends on a later one.
    if (/f(?:data)?sync(?:\(\d+<[^>]*-wal>| resumed>)\)\s+= 0/.test(line) && wal === 'written') wal = 'synced'
    const [answer] = /write\(1<[^>]*>, "stored \d+/.exec(line) ?? []
    if (answer === undefined) continue
    found.answers += 1
    if (wal === 'written') found.unsynced += 1
    if (wal === 'untouched') found.empty += 1
    if (args[0] === undefined) wal = 'untouched'
  }
  return found
}

traced.each([
  { what: 'on the main thread', atOnce: [] },
  { what: 'on another thread, if several wait', atOnce: ['5'] },
])('the WAL is written and synced before each answer, $what', async ({ atOnce }) => {
  expect(await audit(...atOnce)).toEqual({ answers: writes, unsynced: 0, empty: 0 })
})

traced('the audit is not blind: without the sync of the log answers leave before it', async () => {
  const { unsynced } = await audit('1', 'no-sync')
  expect(unsynced).toBeGreaterThan(writes / 2)
})

/**
 * Returns the output of a writer of twenty rows while strace makes calls on its WAL fail. One row is already
 * stored.
 */
async function sabotaged(inject: string, ...args: readonly string[]) {
  const folder = temporaryFolder()
  const path = join(folder, 'bridge.db')
  expect(await startChild('write.ts', [path, '1']).ended()).toBe(0)
  const fail = ['-P', `${path}-wal`, '-e', `inject=${inject}`]
  // strace counts the calls of each thread separately, so the pool has only one thread.
  const oneThread = ['/usr/bin/env', 'UV_THREADPOOL_SIZE=1']
  const wrap = [strace, '-f', '-qq', '-o', join(folder, 'trace'), ...fail, ...oneThread]
  const child = startChild('write.ts', [path, String(writes), ...args], wrap)
  expect(await child.ended()).toBe(0)
  const said = await child.rest()
  const after = new Database(path)
  const rows = after.prepare<[], number>('SELECT count(*) FROM audit').pluck().get() ?? 0
  const integrity = after.pragma('integrity_check', { simple: true })
  after.close()
  return { said, rows: rows - 1, integrity }
}

traced('a sync that fails is answered 503, is fatal, and ends writing', async () => {
  const { said, rows, integrity } = await sabotaged('fsync,fdatasync:error=EIO:when=6+')
  const failedAt = said.indexOf('fatal EIO')
  expect(failedAt).toBeGreaterThan(0)
  expect(said.slice(0, failedAt)).toEqual(Array.from({ length: failedAt }, (_, index) => `stored ${index}`))
  expect(new Set(said.slice(failedAt + 1))).toEqual(new Set(['refused unavailable']))
  // The outcome of a commit whose sync failed is unknown: its row may be stored.
  expect([failedAt, failedAt + 1]).toContain(rows)
  expect(integrity).toBe('ok')
})

traced('a sync that fails on another thread is the end for all that it was for', async () => {
  const { said, rows, integrity } = await sabotaged('fsync,fdatasync:error=EIO:when=2+', '5')
  const failedAt = said.indexOf('fatal EIO')
  expect(said.slice(0, failedAt).every((line) => line.startsWith('stored '))).toBe(true)
  expect(new Set(said.slice(failedAt + 1))).toEqual(new Set(['refused unavailable']))
  expect([failedAt, failedAt + 5]).toContain(rows)
  expect(integrity).toBe('ok')
})

traced('a disk that is full at COMMIT refuses, stores nothing, and later writes go on', async () => {
  const { said, rows, integrity } = await sabotaged('pwrite64:error=ENOSPC:when=30..35')
  const refused = said.filter((line) => line === 'refused storage_full')
  expect(refused.length).toBeGreaterThan(0)
  expect(said.at(-1)).toBe(`stored ${writes - 1}`)
  expect(refused.length + rows).toBe(writes)
  expect(said.filter((line) => line.startsWith('stored'))).toHaveLength(rows)
  expect(integrity).toBe('ok')
})

test('every answered row is stored after a kill', async () => {
  for (let round = 0; round < 5; round += 1) {
    const path = join(temporaryFolder(), 'bridge.db')
    const child = startChild('write.ts', [path, '100000'])
    for (let index = 0; index < 100 * (round + 1); index += 1) await child.next()
    await child.kill()
    const after = new Database(path)
    const there = new Set(after.prepare('SELECT subject_id FROM audit').pluck().all())
    expect(child.said.filter((line) => !there.has(line.replace('stored ', '')))).toEqual([])
    expect(after.pragma('integrity_check', { simple: true })).toBe('ok')
    after.close()
  }
})
