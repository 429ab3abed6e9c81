/**
 * Backups of a running node: complete, consistent, private, and never overwriting another file. Contract §12.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { readConfig } from '../../../server/config.ts'
import { type BackupOptions, backUp } from '../../../server/host/backups/backup.ts'
import { makeNewFile } from '../../../server/host/backups/new-file.ts'
import { restoreBackup } from '../../../server/host/init.ts'
import { databasePath } from '../../../server/storage/data-folder.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { checkStore } from '../../support/invariants.ts'
import { sqliteOnly } from '../../support/one-store.ts'

sqliteOnly('test/server/postgres/backups.test.ts')

let bridge: TestBridge
let folder: string

beforeAll(async () => {
  bridge = await startBridge()
})
afterAll(() => bridge.close())

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bridge-backup-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const taken = new Date('2026-11-21T08:05:01.250Z')

const make = (options: Partial<BackupOptions> = {}) =>
  backUp({
    data: bridge.data,
    destination: folder,
    clock: () => taken,
    random: randomBytes,
    signal: new AbortController().signal,
    onProgress: () => {},
    ...options,
  })

const left = () => readdirSync(folder)

const ended = async (child: ChildProcess) => {
  await once(child, 'exit')
  return child
}

function look<T>(path: string, act: (database: Database.Database) => T): T {
  const database = new Database(path, { readonly: true, fileMustExist: true })
  try {
    return act(database)
  } finally {
    database.close()
  }
}

test('a backup is one private, valid file, named by its time, and contains every answered write', async () => {
  const { ada, ben } = bridge
  const conversation = await ada.conversationWith(ben.id)
  const { id } = await ada.send(conversation, ben.id, 'before the backup')
  const made = await make()
  expect(made).toMatchObject({
    file: join(folder, 'bridge-20261121T080501Z.db'),
    server_id: bridge.server.serverId,
    taken_at: taken.toISOString(),
    bytes: statSync(made.file).size,
    sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    removed: [],
  })
  expect(left()).toEqual(['bridge-20261121T080501Z.db'])
  expect((statSync(made.file).mode & 0o777).toString(8)).toBe('600')
  expect(look(made.file, checkStore)).toEqual([])
  const sql = 'SELECT body FROM messages WHERE id = ?'
  expect(look(made.file, (database) => database.prepare(sql).pluck().get(id))).toBe('before the backup')
})

test('writers continue during a backup, which contains the state of its beginning', async () => {
  const other = new Database(databasePath(bridge.data))
  const note = other.prepare('UPDATE agents SET description = ? WHERE name = ?')
  let commits = 0
  try {
    await make({
      pagesPerStep: 8,
      onProgress() {
        commits += 1
        note.run(`commit ${commits}`, 'ada')
      },
    })
  } finally {
    other.close()
  }
  // A higher count than the copy needs without writers would mean that the copy had restarted.
  const pages = statSync(databasePath(bridge.data)).size / 4096
  expect(commits).toBeGreaterThan(5)
  expect(commits).toBeLessThanOrEqual(Math.ceil(pages / 8) + 1)
  const [name = ''] = left()
  const description = look(join(folder, name), (database) =>
    database.prepare("SELECT description FROM agents WHERE name = 'ada'").pluck().get(),
  )
  expect(description).toBe('')
  expect(look(join(folder, name), checkStore)).toEqual([])
})

test('a backup made while agents send restores to a valid store with every message answered before it', async () => {
  const { id } = await bridge.owner.createProject('loud', { policy: { message_budget: 1_000_000 } })
  const [cy, dan] = [await bridge.agent('cy', id), await bridge.agent('dan', id)]
  const conversation = await cy.conversationWith(dan.id)
  const answered: string[] = []
  let isOver = false
  const send = async (writer: number) => {
    for (let count = 0; !isOver; count += 1) {
      const text = `writer ${writer} message ${count}`
      await cy.send(conversation, dan.id, text)
      answered.push(text)
    }
  }
  const sending = Promise.all([1, 2, 3, 4].map(send))
  const making = (async () => {
    await cy.send(conversation, dan.id, 'before it is begun')
    const before = [...answered, 'before it is begun']
    return { before, ...(await make({ pagesPerStep: 4 })) }
  })().finally(() => {
    isOver = true
  })
  const [{ file, before }] = await Promise.all([making, sending])
  const data = join(folder, 'restored')
  await restoreBackup({
    config: readConfig({ data }, {}),
    file,
    replace: false,
    acceptCredentials: false,
    clock: bridge.clock,
    random: randomBytes,
  })
  expect(look(databasePath(data), checkStore)).toEqual([])
  const bodies = look(databasePath(data), (database) =>
    database.prepare<[], string>('SELECT body FROM messages').pluck().all(),
  )
  expect(bodies).toEqual(expect.arrayContaining(before))
})

test('if the WAL exceeds its bound, the backup is aborted without leftover files, the server keeps running, and the WAL is checkpointed', async () => {
  const other = new Database(databasePath(bridge.data))
  try {
    const grow = other.prepare('UPDATE agents SET instructions = ? WHERE name = ?')
    const making = make({
      pagesPerStep: 1,
      maxLogBytes: 1024 * 1024,
      onProgress: () => grow.run(randomBytes(100_000).toString('hex'), 'ben'),
    })
    await expect(making).rejects.toMatchObject({ name: 'BackupInterruptedError' })
    expect(left()).toEqual([])
    expect(other.pragma('wal_checkpoint(TRUNCATE)')).toEqual([{ busy: 0, log: 0, checkpointed: 0 }])
    expect(statSync(`${databasePath(bridge.data)}-wal`).size).toBe(0)
  } finally {
    other.close()
  }
})

test('a backup does not overwrite an existing file', async () => {
  const file = join(folder, 'kept.db')
  writeFileSync(file, 'something of mine')
  await expect(make({ destination: file })).rejects.toMatchObject({ name: 'DestinationExistsError' })
  expect(readFileSync(file, 'utf8')).toBe('something of mine')
  const { file: first } = await make()
  const bytes = readFileSync(first)
  await expect(make()).rejects.toMatchObject({ name: 'DestinationExistsError' })
  expect(readFileSync(first).equals(bytes)).toBe(true)
  expect(left().sort()).toEqual(['bridge-20261121T080501Z.db', 'kept.db'])
})

test("a file created under the backup's name during the copy is not overwritten", async () => {
  const file = join(folder, 'raced.db')
  const making = make({ destination: file, onProgress: () => writeFileSync(file, 'theirs') })
  await expect(making).rejects.toMatchObject({ name: 'DestinationExistsError' })
  expect(readFileSync(file, 'utf8')).toBe('theirs')
  expect(left()).toEqual(['raced.db'])
})

test('a backup is refused if its folder is missing or there is no installation', async () => {
  const nowhere = join(folder, 'none', 'backup.db')
  await expect(make({ destination: nowhere })).rejects.toMatchObject({ name: 'PathMissingError' })
  await expect(make({ data: folder })).rejects.toMatchObject({ name: 'NotInitialisedError' })
  expect(left()).toEqual([])
})

test('an interrupted backup leaves no file', async () => {
  const interruption = new AbortController()
  const making = make({
    pagesPerStep: 4,
    signal: interruption.signal,
    onProgress: () => interruption.abort(),
  })
  await expect(making).rejects.toMatchObject({ name: 'AbortError' })
  expect(left()).toEqual([])
})

test('a backup removes and reports leftover files of a killed backup in the same folder', async () => {
  const child = fileURLToPath(new URL('../../support/upkeep-process.ts', import.meta.url))
  const killed = ['backup that is killed', bridge.data, join(folder, 'killed.db')]
  const { signalCode } = await ended(spawn(process.execPath, [child, ...killed], { stdio: 'inherit' }))
  expect(signalCode).toBe('SIGKILL')
  const partial = `.killed.db.partial-${'07'.repeat(6)}`
  expect(left()).toEqual(expect.arrayContaining([partial, `${partial}-lock`]))
  expect((await make()).removed).toEqual([partial])
  expect(left()).toEqual(['bridge-20261121T080501Z.db'])
})

test('a backup keeps the files of a running backup and files that only look like leftovers', async () => {
  const living = makeNewFile(join(folder, 'living.db'), randomBytes)
  const another = join(folder, `.other.db.partial-${'0'.repeat(12)}-lock`)
  writeFileSync(another, 'something of mine')
  symlinkSync(databasePath(bridge.data), join(folder, `.linked.db.partial-${'0'.repeat(12)}-lock`))
  const before = left()
  const { file, removed } = await make()
  expect(removed).toEqual([])
  expect(left().sort()).toEqual([...before, basename(file)].sort())
  living.publish()
  living.discard()
  expect(left()).not.toContain(basename(living.partial))
  expect(left()).toContain('living.db')
})

test('a backup of a damaged database is refused with the damage reported', async () => {
  const data = join(folder, 'data')
  const whole = await make()
  mkdirSync(data)
  const bytes = readFileSync(whole.file)
  // The page is in the middle of the file: an integrity check finds the damage, the header does not show it.
  bytes.fill(0xa5, 4096 * 20, 4096 * 21)
  writeFileSync(databasePath(data), bytes)
  const destination = join(folder, 'damaged.db')
  await expect(make({ data, destination })).rejects.toMatchObject({ name: 'DamagedDatabaseError' })
  expect(left().sort()).toEqual(['bridge-20261121T080501Z.db', 'data'])
})

test('a backup does not contain the envelope key', async () => {
  const key = readFileSync(join(bridge.data, 'envelope.key'), 'utf8').trim()
  const bytes = readFileSync((await make()).file)
  expect(bytes.includes(key)).toBe(false)
  expect(bytes.includes(Buffer.from(key, 'base64'))).toBe(false)
})
