/**
 * The open store of a data folder: the server syncs the WAL, a host command does not, and both can run at the
 * same time.
 */
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import { expect, onTestFinished, test, vi } from 'vitest'
import { version } from '../../sdk/version.ts'
import { readConfig } from '../../server/config.ts'
import { noLane } from '../../server/database/lanes.ts'
import type { NodeDatabase } from '../../server/database/node-database.ts'
import { openNodeDatabase } from '../../server/database/sqlite/database.ts'
import { backUp } from '../../server/host/backups/backup.ts'
import { initServer } from '../../server/host/init.ts'
import { databasePath } from '../../server/storage/data-folder.ts'
import { sqliteOnly } from '../support/one-store.ts'

sqliteOnly('test/server/postgres/store.test.ts')

const clock = () => new Date()
const signedAt = Math.floor(Date.now() / 1000)

async function installation(): Promise<string> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'bridge-store-')))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const data = join(folder, 'data')
  await initServer(readConfig({ data }, {}))
  return data
}

function open(data: string, serves: boolean): NodeDatabase {
  const fail = (error: unknown) => {
    throw error
  }
  const store = openNodeDatabase({
    data,
    ...(serves && { self: { name: 'node', version, load: () => ({ percent: 0, waits: 0 }) } }),
    clock,
    monotonicMs: () => performance.now(),
    random: randomBytes,
    onFatal: fail,
    onEffectError: fail,
  })
  onTestFinished(() => store.close())
  return store
}

const logOf = (data: string) => `${databasePath(data)}-wal`
const spend = (store: NodeDatabase, name: string) =>
  store.writer.write(noLane, async () => {}, {
    nonce: { credentialId: name, nonce: name.repeat(22), signedAt },
  })
const read = (store: NodeDatabase) =>
  store.reader.read((db) => db.selectFrom('nonces').select('nonce').execute())
const spent = (path: string) => {
  const database = new Database(path, { readonly: true })
  const names = database.prepare('SELECT credential_id FROM nonces ORDER BY 1').pluck().all()
  database.close()
  return names
}

test("the server syncs the WAL itself, and a host command's commits are synced by SQLite", async () => {
  const data = await installation()
  const pragma = vi.spyOn(Database.prototype as Database.Database, 'pragma')
  onTestFinished(() => pragma.mockRestore())
  const levels = () =>
    pragma.mock.calls.map(([source]) => source).filter((source) => source.startsWith('synchronous ='))
  await open(data, false).close()
  expect(levels()).toEqual(['synchronous = FULL'])
  pragma.mockClear()
  await open(data, true).close()
  expect(levels()).toEqual(['synchronous = FULL', 'synchronous = NORMAL'])
})

test('rows that a killed server left only in the WAL are in the file before the next server is ready', async () => {
  const data = await installation()
  await spend(open(data, true), 'a')
  // The original stays open, which simulates a killed server.
  const left = `${data}-left`
  mkdirSync(left, { mode: 0o700 })
  for (const path of [databasePath, logOf]) copyFileSync(path(data), path(left))
  const length = statSync(logOf(left)).size
  expect(length).toBeGreaterThan(0)
  open(left, false)
  expect(statSync(logOf(left)).size).toBeGreaterThanOrEqual(length)
  open(left, true)
  const file = `${left}.db`
  copyFileSync(databasePath(left), file)
  expect(spent(file)).toEqual(['a'])
})

const hasHandles = existsSync('/proc/self/fd')

/** Returns the inodes of all file descriptors of this process for the WAL of a database. */
function logHandles(path: string): number[] {
  return readdirSync('/proc/self/fd').flatMap((name) => {
    const handle = `/proc/self/fd/${name}`
    try {
      return readlinkSync(handle).startsWith(`${path}-wal`) ? [statSync(handle).ino] : []
    } catch {
      // The descriptor that was used to read the folder.
      return []
    }
  })
}

/** The descriptors of the writer, the reader, and the sync. */
const alive = (path: string, handles: number): number[] => Array(handles).fill(statSync(`${path}-wal`).ino)

test.skipIf(!hasHandles)(
  'if the database is a symbolic link, the WAL beside its target is synced',
  async () => {
    const data = await installation()
    const elsewhere = `${data}-disk.db`
    renameSync(databasePath(data), elsewhere)
    symlinkSync(elsewhere, databasePath(data))
    const store = open(data, true)
    await spend(store, 'a')
    await read(store)
    expect(existsSync(logOf(data))).toBe(false)
    expect(logHandles(elsewhere)).toEqual(alive(elsewhere, 3))
  },
)

const secondStore = fileURLToPath(new URL('../support/second-store.ts', import.meta.url))

/** Makes another process open the store, write, and close it. */
async function beside(data: string): Promise<void> {
  const child = spawn(process.execPath, [secondStore, data], { stdio: ['pipe', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const exit = once(child, 'exit')
  const lines = createInterface(child.stdout)
  await Promise.race([once(lines, 'line'), exit])
  child.stdin.end(`${JSON.stringify([{ credentialId: 'z', nonce: 'z'.repeat(22), signedAt }])}\n`)
  expect((await exit)[0]).toBe(0)
}

test.skipIf(!hasHandles)(
  'the synced WAL stays the live one during backups, rewrites, checkpoints and host commands',
  async () => {
    const data = await installation()
    const path = databasePath(data)
    const store = open(data, true)
    await read(store)
    const steps: Record<string, () => Promise<unknown>> = {
      writes: () => spend(store, 'a'),
      'a backup': () =>
        backUp({
          data,
          destination: join(data, '..', 'backup.db'),
          clock,
          random: randomBytes,
          signal: new AbortController().signal,
          onProgress: () => {},
        }),
      'a scrub': () => store.writer.scrub(Number.POSITIVE_INFINITY),
      'a command of the host': () => beside(data),
      'a checkpoint': () => store.writer.checkpoint(),
      'writes again': () => spend(store, 'b'),
    }
    for (const [step, take] of Object.entries(steps)) {
      await take()
      expect(logHandles(path), step).toEqual(alive(path, 3))
    }
    expect(statSync(logOf(data)).size).toBeGreaterThan(0)
    expect(spent(path)).toEqual(['a', 'b', 'z'])
  },
)
