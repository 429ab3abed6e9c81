import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { openDatabase, requireDurable, UnsafeStoreError } from '../../../server/database/sqlite/open.ts'
import { temporaryFolder } from './store.ts'

const pragma = (database: Database.Database, name: string) => database.pragma(name, { simple: true })

test('synchronous is FULL after the first write and after reopening', () => {
  const path = join(temporaryFolder(), 'bridge.db')
  for (const attempt of ['first', 'again']) {
    const database = openDatabase(path)
    database.exec(`CREATE TABLE ${attempt} (x INTEGER) STRICT; INSERT INTO ${attempt} VALUES (1)`)
    expect(pragma(database, 'synchronous')).toBe(2)
    database.close()
  }
})

test('the default of the SQLite build in WAL mode, which would lose commits, is refused', () => {
  const database = new Database(join(temporaryFolder(), 'plain.db'))
  database.pragma('journal_mode = WAL')
  database.exec('CREATE TABLE t (x INTEGER)')
  expect(() => requireDurable(database)).toThrow(UnsafeStoreError)
  database.close()
})

test('each setting is active on the writing connection', () => {
  const database = openDatabase(join(temporaryFolder(), 'bridge.db'))
  expect({
    journal_mode: pragma(database, 'journal_mode'),
    foreign_keys: pragma(database, 'foreign_keys'),
    busy_timeout: pragma(database, 'busy_timeout'),
    trusted_schema: pragma(database, 'trusted_schema'),
    cell_size_check: pragma(database, 'cell_size_check'),
    temp_store: pragma(database, 'temp_store'),
    secure_delete: pragma(database, 'secure_delete'),
    journal_size_limit: pragma(database, 'journal_size_limit'),
  }).toEqual({
    journal_mode: 'wal',
    foreign_keys: 1,
    busy_timeout: 5000,
    trusted_schema: 0,
    cell_size_check: 1,
    temp_store: 2,
    secure_delete: 1,
    journal_size_limit: 64 * 1024 * 1024,
  })
  database.close()
})

test('an in-memory store is refused', () => {
  expect(() => openDatabase(':memory:')).toThrow(UnsafeStoreError)
  expect(existsSync(':memory:')).toBe(false)
})

test('only the owner can access the database file, its WAL and a folder made for it', () => {
  const folder = join(temporaryFolder(), 'data')
  const path = join(folder, 'bridge.db')
  const database = openDatabase(path)
  database.exec('CREATE TABLE t (x INTEGER)')
  const mode = (file: string) => (statSync(file).mode & 0o777).toString(8)
  expect(mode(folder)).toBe('700')
  expect([path, `${path}-wal`, `${path}-shm`].map(mode)).toEqual(['600', '600', '600'])
  database.close()
})

test("the reader's connection cannot write and requires an existing store", () => {
  const path = join(temporaryFolder(), 'bridge.db')
  expect(() => openDatabase(path, { readonly: true })).toThrow()
  const writer = openDatabase(path)
  writer.exec('CREATE TABLE t (x INTEGER)')
  const reader = openDatabase(path, { readonly: true })
  expect(() => reader.exec('INSERT INTO t VALUES (1)')).toThrow(/readonly/)
  reader.close()
  writer.close()
})
