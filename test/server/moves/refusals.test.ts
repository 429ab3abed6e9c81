/**
 * Moves that are refused because of a password, a schema or an envelope key. Each names the reason and changes
 * neither side. Runs with `BRIDGE_TEST_STORE=postgres`.
 */
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { migrations } from '../../../server/database/migrations/index.ts'
import { baselineNumber } from '../../../server/database/postgres/baseline.ts'
import { PostgresConnection } from '../../../server/database/postgres/connection.ts'
import { migrate as migratePostgres } from '../../../server/database/postgres/migrate.ts'
import { migrate } from '../../../server/database/sqlite/migrate.ts'
import { openDatabase } from '../../../server/database/sqlite/open.ts'
import { databasePath } from '../../../server/storage/data-folder.ts'
import { Desk } from '../../support/desk.ts'
import { isOnPostgres } from '../../support/postgres.ts'
import { Cluster, hasPostgres } from '../../support/postgres-cluster.ts'
import { makeDatabase, removeFolders, startOn, type TestDatabase, temporary } from './scene.ts'

const onFile = <T>(data: string, act: (database: Database.Database) => T): T => {
  const database = new Database(databasePath(data))
  try {
    return act(database)
  } finally {
    database.close()
  }
}

/** Makes an installation on SQLite that has run once. */
async function installation(desk: Desk): Promise<string> {
  const data = join(temporary(), 'data')
  await desk.run(['server', 'init', '--data', data], { environment: { BRIDGE_DATABASE_URL: '' } })
  return data
}

const otherKey = `${Buffer.alloc(32, 7).toString('base64')}\n`

describe.skipIf(!isOnPostgres)('a move', () => {
  let desk: Desk
  let database: TestDatabase
  beforeAll(async () => {
    desk = await Desk.make()
  })
  beforeEach(async () => {
    database = await makeDatabase()
  })
  afterEach(() => database.drop())
  afterAll(async () => {
    await desk.remove()
    removeFolders()
  })

  const move = (data: string, ...args: string[]) =>
    desk.run(['server', 'move', '--data', data, '--database', database.url, ...args])
  const tables = async () => {
    const rows = await database.query(
      "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace",
    )
    return rows.length
  }
  /** A node starts on the file as before. */
  const stillServed = async (data: string) => (await startOn(data, { database: '' })).stop()

  test.skipIf(!hasPostgres)(
    'with a wrong password changes nothing, shows none, and succeeds with the right one',
    async () => {
      const cluster = await Cluster.start([], ['host all mover 127.0.0.1/32 scram-sha-256'])
      onTestFinished(() => cluster.close())
      await cluster.query("CREATE ROLE mover LOGIN PASSWORD 'the-right-one'")
      await cluster.query('CREATE DATABASE moved OWNER mover')
      const data = await installation(desk)
      const file = join(temporary(), 'url')
      const withPassword = (word: string) => {
        writeFileSync(file, `postgres://mover:${word}@127.0.0.1:${cluster.port}/moved`, { mode: 0o600 })
        return desk.run(['server', 'move', '--data', data, '--database-url-file', file], {
          environment: { BRIDGE_DATABASE_URL: '' },
        })
      }
      const { code, stdout, stderr } = await withPassword('the-wrong-one')
      expect([code, stdout]).toEqual([1, ''])
      expect(stderr).toMatch(
        /^bridge: cannot connect to the database moved at .*password authentication failed/,
      )
      expect(stderr).not.toContain('the-wrong-one')
      expect(onFile(data, (opened) => opened.prepare('SELECT * FROM moved').all())).toEqual([])
      expect(existsSync(join(data, 'config.json'))).toBe(false)
      await stillServed(data)
      expect(await withPassword('the-right-one')).toMatchObject({ code: 0 })
    },
  )

  const future =
    "INSERT INTO schema_migrations SELECT max(number) + 1, 'future', max(applied_at) FROM schema_migrations"

  test('of a file that a newer program has used is refused', async () => {
    const data = await installation(desk)
    onFile(data, (opened) => opened.exec(future))
    expect(await move(data)).toMatchObject({
      code: 7,
      stdout: '',
      stderr: expect.stringMatching(/is at migration \d+_future, but this program only knows/),
    })
    expect(await tables()).toBe(0)
    expect(onFile(data, (opened) => opened.prepare('SELECT * FROM moved').all())).toEqual([])
  })

  test('of a database that a newer program has used is refused', async () => {
    const data = await installation(desk)
    expect(await move(data)).toMatchObject({ code: 0 })
    await database.query(future)
    const folder = join(temporary(), 'back')
    expect(await move(data, '--to', folder)).toMatchObject({
      code: 7,
      stdout: '',
      stderr: expect.stringMatching(/is at migration \d+_future, but this program only knows/),
    })
    expect(existsSync(folder)).toBe(false)
    expect(await database.query('SELECT * FROM moved')).toEqual([])
  })

  const older = migrations.slice(0, baselineNumber)
  const then = () => new Date('2026-11-01T12:00:00.000Z')
  const row =
    "INSERT INTO server (one, server_id, created_at) VALUES (1, 'older', '2026-11-01T12:00:00.000Z')"

  test('of a file with an older schema brings it up to date first', async () => {
    const data = join(temporary(), 'data')
    mkdirSync(data, { mode: 0o700 })
    const opened = openDatabase(databasePath(data))
    migrate(opened, older, then)
    opened.exec(row)
    opened.close()
    expect(await move(data)).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('next: bridge server start'),
    })
    expect(await database.query('SELECT server_id FROM server')).toEqual([{ server_id: 'older' }])
  })

  test('of a database with an older schema brings it up to date first', async () => {
    const connection = await PostgresConnection.open({ url: database.url })
    await migratePostgres(connection, older, then)
    await connection.query({ text: row })
    await connection.close()
    const folder = join(temporary(), 'back')
    expect(await move(temporary(), '--to', folder)).toMatchObject({ code: 0 })
    expect(onFile(folder, (opened) => opened.prepare('SELECT server_id FROM server').pluck().get())).toBe(
      'older',
    )
    expect(await database.query("SELECT 1 FROM moved WHERE state = 'left'")).toHaveLength(1)
  })

  test('back is refused with another envelope key, or without one, and no node starts with another one', async () => {
    const data = await installation(desk)
    const key = join(data, 'envelope.key')
    const kept = `${key}.kept`
    copyFileSync(key, kept)
    expect(await move(data)).toMatchObject({ code: 0 })
    writeFileSync(key, otherKey)
    const folder = join(temporary(), 'back')
    const refused = {
      code: 7,
      stdout: '',
      stderr: expect.stringMatching(
        /envelope\.key is not the envelope key with which .*\nhint: restore the key from a copy.*rotate-key.*--lost/,
      ),
    }
    expect(await move(data, '--to', folder)).toMatchObject(refused)
    await expect(startOn(data, { database: database.url })).rejects.toThrow('is not the envelope key')
    rmSync(key)
    expect(await move(data, '--to', folder)).toMatchObject(refused)
    expect(existsSync(folder)).toBe(false)
    expect(await database.query('SELECT * FROM moved')).toEqual([])
    copyFileSync(kept, key)
    expect(await move(data, '--to', folder)).toMatchObject({ code: 0 })
    expect(readFileSync(join(folder, 'envelope.key'))).toEqual(readFileSync(kept))
    await stillServed(folder)
    writeFileSync(join(folder, 'envelope.key'), otherKey)
    const other = await makeDatabase()
    expect(await desk.run(['server', 'move', '--data', folder, '--database', other.url])).toMatchObject(
      refused,
    )
    await other.drop()
  })

  test('a new key of rotate-key, also if the old one is lost, is that of the next start', async () => {
    const data = await installation(desk)
    expect(await move(data)).toMatchObject({ code: 0 })
    const start = async () => (await startOn(data, { database: database.url })).stop()
    const rotate = (...flags: string[]) =>
      desk.run(['server', 'rotate-key', '--data', data, ...flags], {
        environment: { BRIDGE_DATABASE_URL: database.url },
      })
    expect(await rotate()).toMatchObject({ code: 0 })
    await start()
    writeFileSync(join(data, 'envelope.key'), otherKey)
    await expect(start()).rejects.toThrow('is not the envelope key')
    expect(await rotate('--lost')).toMatchObject({ code: 0 })
    await start()
  })
})
