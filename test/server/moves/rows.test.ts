/**
 * A move changes no row, in either direction. This test reads both databases by itself, beside the counts and
 * hashes of the command. Runs with `BRIDGE_TEST_STORE=postgres`.
 */
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { PostgresConnection } from '../../../server/database/postgres/connection.ts'
import { copiedTables } from '../../../server/database/row-copy.ts'
import { databasePath } from '../../../server/storage/data-folder.ts'
import { Desk } from '../../support/desk.ts'
import { isOnPostgres } from '../../support/postgres.ts'
import { makeDatabase, makeScene, removeFolders, type Scene, type TestDatabase, temporary } from './scene.ts'

type Tables = Readonly<Record<string, readonly string[]>>

/** One line of JSON for each row, with the columns of the file. A move changes these two columns. */
const changed = new Set(['replay_floor.floor', 'server.envelope_key_check'])

const linesOf = (table: string, rows: readonly object[], columns: readonly string[]): readonly string[] =>
  rows
    .map((row) => {
      const values = columns.filter((column) => !changed.has(`${table}.${column}`))
      return JSON.stringify(values.map((column) => [column, plain((row as Record<string, unknown>)[column])]))
    })
    .sort()

const plain = (value: unknown) => (Buffer.isBuffer(value) ? value.toString('hex') : value)

const columns = new Map<string, string[]>()

function rowsOfFile(data: string): Tables {
  const database = new Database(databasePath(data), { readonly: true })
  const tables = copiedTables.map(({ name }) => {
    const names = database
      .prepare<[string], string>('SELECT name FROM pragma_table_info(?)')
      .pluck()
      .all(name)
    columns.set(name, names)
    return [name, linesOf(name, database.prepare<[], object>(`SELECT * FROM ${name}`).all(), names)] as const
  })
  database.close()
  return Object.fromEntries(tables)
}

async function rowsOfDatabase(url: string): Promise<Tables> {
  const connection = await PostgresConnection.open({ url })
  const tables: [string, readonly string[]][] = []
  for (const { name } of copiedTables) {
    const { rows } = await connection.query<object>({ text: `SELECT * FROM ${name}` })
    tables.push([name, linesOf(name, rows, columns.get(name) ?? [])])
  }
  await connection.close()
  return Object.fromEntries(tables)
}

describe.skipIf(!isOnPostgres)('the rows after a move', () => {
  let scene: Scene
  let desk: Desk
  let database: TestDatabase
  let before: Tables

  beforeAll(async () => {
    scene = await makeScene()
    desk = await Desk.make()
    database = await makeDatabase()
    before = rowsOfFile(scene.data)
  })
  afterAll(async () => {
    await database.drop()
    await desk.remove()
    removeFolders()
  })

  const move = (...args: string[]) =>
    desk.run(['server', 'move', '--data', scene.data, '--database', database.url, ...args])

  test('to PostgreSQL are those of the file, also keys, sealed endpoints and load of hosts', async () => {
    for (const table of ['recipient_keys', 'transfer_secrets', 'telemetry_token', 'telemetry_hosts'])
      expect([table, before[table]?.length]).toEqual([table, 1])
    const full = Object.values(before).filter(({ length }) => length > 0)
    expect(full.length).toBeGreaterThan(copiedTables.length / 2)
    expect(await move()).toMatchObject({ code: 0 })
    expect(await rowsOfDatabase(database.url)).toEqual(before)
  })

  test('back to a folder are those of the file that was moved', async () => {
    const folder = join(temporary(), 'back')
    expect(await move('--to', folder)).toMatchObject({ code: 0 })
    expect(rowsOfFile(folder)).toEqual(before)
  })
})
