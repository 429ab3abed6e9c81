/**
 * The refusals of a restore, and the state after an interrupted one: the old installation or the new one,
 * never a mixture.
 */
import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { readConfig } from '../../../server/config.ts'
import { migrations } from '../../../server/database/migrations/index.ts'
import { lockDataFolder } from '../../../server/database/sqlite/lock.ts'
import { migrate, migrationStatus } from '../../../server/database/sqlite/migrate.ts'
import { openDatabase } from '../../../server/database/sqlite/open.ts'
import { insertServer, readServerId } from '../../../server/database/sqlite/server-id.ts'
import { backUp } from '../../../server/host/backups/backup.ts'
import { initServer, issueSetupLink, restoreBackup } from '../../../server/host/init.ts'
import { startServer } from '../../../server/server.ts'
import { databasePath, restoreNotePath } from '../../../server/storage/data-folder.ts'
import { sha256 } from '../../support/files.ts'
import { sqliteOnly } from '../../support/one-store.ts'

sqliteOnly('test/server/postgres/backups.test.ts')

let folder: string
/** An installation, and a backup of another installation. */
let data: string
let file: string
let ids: { readonly old: string; readonly backup: string }

const template = mkdtempSync(join(tmpdir(), 'bridge-replacing-'))

beforeAll(async () => {
  const { serverId: old } = await initServer(configOf(join(template, 'data')))
  const { serverId: backup } = await initServer(configOf(join(template, 'other')))
  ids = { old, backup }
  await back(join(template, 'other'), join(template, 'backup.db'))
})
afterAll(() => rmSync(template, { recursive: true, force: true }))

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bridge-replacing-'))
  data = join(folder, 'data')
  file = join(folder, 'backup.db')
  cpSync(template, folder, { recursive: true })
  chmodSync(data, 0o700)
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const configOf = (of: string) => readConfig({ data: of, port: '0', log_level: 'silent' }, {})
const clock = () => new Date()

const back = (of: string, destination: string) =>
  backUp({
    data: of,
    destination,
    clock,
    random: randomBytes,
    signal: new AbortController().signal,
    onProgress: () => {},
  })

const bring = (options: { file?: string; replace?: boolean; data?: string; clock?: () => Date } = {}) =>
  restoreBackup({
    config: configOf(options.data ?? data),
    file: options.file ?? file,
    replace: options.replace ?? true,
    acceptCredentials: false,
    clock: options.clock ?? clock,
    random: randomBytes,
  })

/** Name and content of every file, without the lock file, whose content does not matter. */
const contents = (of: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(of, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !/^lock\.db|-shm$|-wal$/.test(entry.name))
      .map(({ parentPath, name }) => [join(parentPath, name), sha256(readFileSync(join(parentPath, name)))]),
  )

const idIn = (of: string): string | undefined => {
  const database = openDatabase(databasePath(of), { readonly: true })
  try {
    return readServerId(database)
  } finally {
    database.close()
  }
}

function change(path: string, act: (database: Database.Database) => unknown): string {
  const changed = join(folder, 'changed.db')
  copyFileSync(path, changed)
  const database = new Database(changed)
  act(database)
  database.close()
  return changed
}

test('an installation is replaced only on explicit request, and the old one is kept', async () => {
  await expect(bring({ replace: false })).rejects.toMatchObject({ name: 'AlreadyInitialisedError' })
  expect(idIn(data)).toBe(ids.old)
  const { kept, server_id } = await bring()
  expect([server_id, idIn(data), idIn(kept ?? '')]).toEqual([ids.backup, ids.backup, ids.old])
  expect(readdirSync(data).filter((name) => name.startsWith('restor'))).toEqual([])
})

test('a restore keeps settings and key of the folder, and makes a key if there is none', async () => {
  const key = readFileSync(join(data, 'envelope.key'), 'utf8')
  writeFileSync(join(data, 'config.json'), '{"stage":"kept"}')
  expect(await bring()).toMatchObject({ envelope_key_made: false })
  expect(readFileSync(join(data, 'envelope.key'), 'utf8')).toBe(key)
  expect(readFileSync(join(data, 'config.json'), 'utf8')).toBe('{"stage":"kept"}')
  expect(await bring({ data: join(folder, 'new') })).toMatchObject({ envelope_key_made: true, kept: null })
})

const flipped = (): string => {
  const bytes = readFileSync(file)
  bytes.fill(0x5a, 4096 * 30, 4096 * 31)
  writeFileSync(join(folder, 'changed.db'), bytes)
  return join(folder, 'changed.db')
}

test.each<[what: string, name: string, make: () => string]>([
  ['nothing', 'PathMissingError', () => join(folder, 'none.db')],
  ['a folder', 'DamagedDatabaseError', () => folder],
  [
    'some other file',
    'DamagedDatabaseError',
    () => {
      writeFileSync(join(folder, 'note.txt'), 'a note that is long enough to be read')
      return join(folder, 'note.txt')
    },
  ],
  [
    'a backup that was cut short',
    'DamagedDatabaseError',
    () => {
      writeFileSync(join(folder, 'short.db'), readFileSync(file).subarray(0, 4096 * 20))
      return join(folder, 'short.db')
    },
  ],
  ['a backup with a replaced page', 'DamagedDatabaseError', flipped],
  [
    "another program's database",
    'DamagedDatabaseError',
    () => change(file, (d) => d.pragma('application_id = 1')),
  ],
  [
    'an incomplete installation',
    'DamagedDatabaseError',
    () => change(file, (d) => d.exec('DELETE FROM server')),
  ],
  [
    "a newer program's backup",
    'NewerDatabaseError',
    () => change(file, (d) => d.exec("INSERT INTO schema_migrations VALUES (999, 'later', '2030-01-01')")),
  ],
  [
    "a changed build's backup",
    'MigrationHistoryError',
    () => change(file, (d) => d.exec("UPDATE schema_migrations SET name = 'other' WHERE number = 7")),
  ],
  [
    'a database that was in use, with its WAL',
    'DamagedDatabaseError',
    () => {
      writeFileSync(`${file}-wal`, 'frames')
      return file
    },
  ],
])('a restore of %s is refused with %s and changes nothing', async (_what, name, make) => {
  const before = contents(data)
  await expect(bring({ file: make() })).rejects.toMatchObject({ name })
  expect(contents(data)).toEqual(before)
  expect(idIn(data)).toBe(ids.old)
})

test('a restore is refused while a server or another program uses the database', async () => {
  const lock = lockDataFolder(data)
  try {
    await expect(bring()).rejects.toMatchObject({ name: 'DataFolderLockedError' })
  } finally {
    lock.release()
  }
  const other = new Database(databasePath(data))
  try {
    other.prepare('SELECT * FROM server').all()
    await expect(bring()).rejects.toMatchObject({ name: 'DatabaseInUseError' })
  } finally {
    other.close()
  }
  expect(idIn(data)).toBe(ids.old)
  expect(existsSync(restoreNotePath(data))).toBe(false)
  expect(await bring()).toMatchObject({ server_id: ids.backup })
})

test('an earlier schema is migrated: by the restore of a backup, or by the next start on a data folder', async () => {
  const earlier = join(folder, 'earlier')
  mkdirSync(earlier, { mode: 0o700 })
  const database = openDatabase(databasePath(earlier))
  migrate(database, migrations.slice(0, -1), clock)
  insertServer(database, 'an-earlier-server', clock())
  database.exec(
    `INSERT INTO projects (id, name, description, state, created_at, updated_at)
      VALUES ('019aa000-0000-7000-8000-000000000001', 'kept', '', 'active', '2026-01-01', '2026-01-01')`,
  )
  database.close()
  const older = join(folder, 'older.db')
  expect(await back(earlier, older)).toMatchObject({ migration: migrations.length - 1 })
  const report = await bring({ file: older })
  expect(report.migration).toEqual({ from: migrations.length - 1, to: migrations.length })
  const restored = openDatabase(databasePath(data), { readonly: true })
  expect(migrationStatus(restored)).toHaveLength(migrations.length)
  expect(restored.prepare('SELECT name FROM projects').pluck().all()).toEqual(['kept'])
  restored.close()
  const server = await startServer(configOf(earlier))
  onTestFinished(() => server.stop())
  expect(server.serverId).toBe('an-earlier-server')
  const upgraded = openDatabase(databasePath(earlier), { readonly: true })
  expect(migrationStatus(upgraded)).toHaveLength(migrations.length)
  upgraded.close()
})

/** Prepares the state of a killed restore: the note is written, and some of its steps have happened. */
function cutOff(state: 'nothing moved' | 'old moved' | 'all moved'): void {
  const staged = join(data, 'restoring-abc')
  const kept = join(data, 'replaced-abc')
  mkdirSync(staged)
  copyFileSync(file, databasePath(staged))
  writeFileSync(restoreNotePath(data), JSON.stringify({ staged: 'restoring-abc', kept: 'replaced-abc' }))
  if (state === 'nothing moved') return
  mkdirSync(kept)
  renameSync(databasePath(data), databasePath(kept))
  if (state === 'all moved') renameSync(databasePath(staged), databasePath(data))
}

test.each(['nothing moved', 'old moved', 'all moved'] as const)(
  'a restore killed with %s blocks every other command, and the next start or restore completes it',
  async (state) => {
    cutOff(state)
    const unfinished = { name: 'RestoreUnfinishedError' }
    await expect(issueSetupLink(configOf(data))).rejects.toMatchObject(unfinished)
    await expect(initServer(configOf(data))).rejects.toMatchObject(unfinished)
    await expect(back(data, join(folder, 'second.db'))).rejects.toMatchObject(unfinished)
    if (state === 'old moved') await startServer(configOf(data)).then((server) => server.stop())
    else await expect(bring({ replace: false })).rejects.toMatchObject({ name: 'AlreadyInitialisedError' })
    expect(idIn(data)).toBe(ids.backup)
    expect(idIn(join(data, 'replaced-abc'))).toBe(ids.old)
    expect(readdirSync(data).filter((name) => name.startsWith('restor'))).toEqual([])
  },
)

test('a restore that fails at its last step is completed by the next start', async () => {
  const now = new Date('2030-01-02T03:04:05Z')
  const kept = join(data, 'replaced-20300102T030405Z')
  symlinkSync(join(folder, 'nowhere'), kept)
  await expect(bring({ clock: () => now })).rejects.toThrow(kept)
  rmSync(kept)
  const server = await startServer(configOf(data))
  onTestFinished(() => server.stop())
  expect(server.serverId).toBe(ids.backup)
  expect(idIn(kept)).toBe(ids.old)
  expect(readdirSync(data).filter((name) => name.startsWith('restor'))).toEqual([])
})

describe.runIf(process.getuid?.() === 0)('by root, for a server of another user,', () => {
  beforeEach(() => chownSync(data, 4321, 4321))
  const expectOwned = (...paths: string[]) =>
    expect(paths.map((path) => [path, statSync(path).uid])).toEqual(paths.map((path) => [path, 4321]))

  test('restored files belong to that user', async () => {
    const { kept } = await bring()
    expectOwned(databasePath(data), join(data, 'lock.db'), kept ?? '')
  })

  test('an unfinished restore belongs to that user, so that its start can finish it', async () => {
    const now = new Date('2030-01-02T03:04:05Z')
    symlinkSync(join(folder, 'nowhere'), join(data, 'replaced-20300102T030405Z'))
    await expect(bring({ clock: () => now })).rejects.toThrow('replaced-20300102T030405Z')
    const staged = readdirSync(data).filter((name) => name.startsWith('restoring-'))
    expect(staged).toHaveLength(1)
    for (const name of staged) expectOwned(join(data, name), databasePath(join(data, name)))
    expectOwned(restoreNotePath(data))
  })

  test('the folder of the old database belongs to that user', async () => {
    cutOff('nothing moved')
    await startServer(configOf(data)).then((server) => server.stop())
    expectOwned(join(data, 'replaced-abc'))
  })
})

test('a restore removes the files that a killed restore had prepared', async () => {
  mkdirSync(join(data, 'restoring-old'))
  writeFileSync(databasePath(join(data, 'restoring-old')), 'half')
  await bring()
  expect(readdirSync(data).filter((name) => name.startsWith('restor'))).toEqual([])
})
