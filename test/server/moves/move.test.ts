/**
 * `bridge server move`: an installation moves from SQLite to PostgreSQL with everything that it holds, and the
 * old place refuses to start. Runs with `BRIDGE_TEST_STORE=postgres`.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { withFreshDatabase } from '../../../docs/generate/schema.ts'
import { copiedTables } from '../../../server/database/row-copy.ts'
import { readColumns } from '../../../server/database/sqlite/moving.ts'
import type { RunningServer } from '../../../server/server.ts'
import { Desk } from '../../support/desk.ts'
import { dropConnections } from '../../support/http.ts'
import { isOnPostgres } from '../../support/postgres.ts'
import {
  expectServed,
  makeDatabase,
  makeScene,
  removeFolders,
  type Scene,
  startOn,
  type TestDatabase,
  temporary,
} from './scene.ts'

/** Settings of SQLite, whatever `config.json` says. */
const sqliteSettings = { environment: { BRIDGE_DATABASE_URL: '' } }

interface Report {
  readonly packages: { readonly files: number; readonly bytes: number }
  readonly tables: readonly { readonly table: string; readonly rows: number; readonly sha256: string }[]
}

test('a move copies every table but those of the schema, after the tables that it refers to', () => {
  withFreshDatabase((database) => {
    const names = database
      .prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
      .pluck()
      .all()
    const copied = copiedTables.map(({ name }) => name)
    expect([...copied, 'moved', 'schema_migrations'].sort()).toEqual(names.sort())
    for (const [index, name] of copied.entries()) {
      const referred = database
        .prepare<[string], string>('SELECT DISTINCT "table" FROM pragma_foreign_key_list(?)')
        .pluck()
        .all(name)
      expect(copied.slice(0, index)).toEqual(expect.arrayContaining(referred))
    }
    const types = [...readColumns(database).values()].flat().map(({ type }) => type)
    expect([...new Set(types)].sort()).toEqual(['BLOB', 'INTEGER', 'REAL', 'TEXT'])
  })
})

describe.skipIf(!isOnPostgres)('a move to PostgreSQL', () => {
  let scene: Scene
  let desk: Desk
  let database: TestDatabase
  let server: RunningServer | undefined

  beforeAll(async () => {
    scene = await makeScene()
    desk = await Desk.make()
    database = await makeDatabase()
  })
  afterAll(async () => {
    await server?.stop()
    await database.drop()
    await desk.remove()
    removeFolders()
  })

  const bridge = (...args: string[]) => desk.run(['server', ...args, '--data', scene.data])

  test('refuses a URL with a password, no database, and one that does not exist', async () => {
    const secret = new URL(database.url)
    secret.password = 'very-secret'
    const refused = await bridge('move', '--database', secret.href)
    expect(refused).toMatchObject({ code: 2, stdout: '' })
    expect(refused.stderr).toContain('~/.pgpass')
    expect(refused.stderr).not.toContain('very-secret')
    expect(await desk.run(['server', 'move', '--data', scene.data], sqliteSettings)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('which database'),
    })
    const missing = new URL(database.url)
    missing.pathname = '/no-such-database'
    const unreachable = await bridge('move', '--database', missing.href)
    expect(unreachable).toMatchObject({ code: 1, stderr: expect.stringContaining('does not exist') })
  })

  test('refuses a target that holds something, and changes nothing there', async () => {
    await database.query('CREATE TABLE somebody (name text)')
    const refused = await bridge('move', '--database', database.url)
    expect(refused).toMatchObject({ code: 7, stderr: expect.stringContaining('such as somebody') })
    await database.query('DROP TABLE somebody; CREATE TABLE schema_migrations (version text)')
    const other = await bridge('move', '--database', database.url)
    expect(other).toMatchObject({ code: 7, stderr: expect.stringContaining('such as schema_migrations') })
    await database.query('DROP TABLE schema_migrations')
    await database.query(
      `CREATE TABLE schema_migrations (number bigint, name text, applied_at text);
      INSERT INTO schema_migrations SELECT n, 'later', '' FROM generate_series(1, 9999) AS n`,
    )
    const newer = await bridge('move', '--database', database.url)
    expect(newer).toMatchObject({ code: 7, stderr: expect.stringContaining('only knows') })
    await database.query('DROP TABLE schema_migrations')
    const installed = await makeDatabase()
    const folder = temporary()
    expect(await desk.run(['server', 'init', '--data', folder, '--database', installed.url])).toMatchObject({
      code: 0,
    })
    const held = await bridge('move', '--database', installed.url)
    expect(held).toMatchObject({ code: 7, stderr: expect.stringContaining('holds an installation already') })
    await installed.drop()
  })

  test('refuses while a server runs, and names its process', async () => {
    const running = await startOn(scene.data)
    const refused = await bridge('move', '--database', database.url)
    await running.stop()
    expect(refused).toMatchObject({ code: 7, stdout: '' })
    expect(refused.stderr).toContain(`process ${process.pid}) uses ${scene.data}; stop it first`)
  })

  test('moves every row, and reports counts and hashes', async () => {
    writeFileSync(join(scene.data, 'config.json'), JSON.stringify({ stage: 'kept' }))
    const moved = await bridge('move', '--database', database.url, '--json')
    expect(moved).toMatchObject({ code: 0 })
    const { tables } = JSON.parse(moved.stdout) as Report
    expect(tables.map(({ table }) => table)).toEqual(copiedTables.map(({ name }) => name))
    const counts = Object.fromEntries(tables.map(({ table, rows }) => [table, rows]))
    expect(counts).toMatchObject({ server: 1, projects: 1, agents: 2, transfers: 2, tasks: 1 })
    expect(counts.messages).toBeGreaterThanOrEqual(scene.bodies.length)
    const settings = JSON.parse(readFileSync(join(scene.data, 'config.json'), 'utf8'))
    expect(settings).toEqual({ stage: 'kept', database: database.url })
  })

  test('raises the floor of the nonces by 30 s, and the lanes to the last ids', async () => {
    const file = new Database(join(scene.data, 'bridge.db'), { readonly: true })
    const before = file.prepare('SELECT floor FROM replay_floor').pluck().get() as number
    file.close()
    const [floor] = await database.query<{ floor: string }>('SELECT floor FROM replay_floor')
    expect(Number(floor?.floor)).toBe(before + 30)
    const lanes = await database.query<{ lane: string; last: string }>('SELECT lane, last FROM lanes')
    expect(lanes.map(({ lane }) => lane).sort()).toEqual([scene.projectId, 'node'].sort())
    const [greatest] = await database.query<{ id: string }>(
      'SELECT max(id) AS id FROM (SELECT id FROM messages UNION SELECT id FROM audit) AS ids',
    )
    for (const { last } of lanes) expect(last >= (greatest?.id ?? '')).toBe(true)
    expect(await database.query('SELECT 1 FROM moved')).toEqual([])
  })

  test.each([
    ['start'],
    ['maintain'],
    ['backup', '/dev/null/x.db'],
    ['doctor'],
    ['owner-link'],
    ['rotate-key'],
  ])('afterwards %s refuses the file of SQLite and names the new place', async (...words) => {
    const { code, stdout, stderr } = await desk.run(
      ['server', ...words, '--data', scene.data],
      sqliteSettings,
    )
    expect(code).toBe(7)
    expect(stdout + stderr).toContain(`was moved to ${database.url}`)
  })

  test('a second move is refused', async () => {
    const again = await bridge('move', '--database', database.url)
    expect(again).toMatchObject({ code: 7, stderr: expect.stringContaining('was moved to') })
    const other = await makeDatabase()
    const elsewhere = await bridge('move', '--database', other.url)
    expect(elsewhere).toMatchObject({ code: 7, stderr: expect.stringContaining(database.url) })
    await other.drop()
  })

  test('the node serves everything from PostgreSQL, and a retry gets its first answer', async () => {
    const idsOf = async () =>
      (await database.query<{ id: string }>('SELECT id FROM messages UNION SELECT id FROM audit')).map(
        ({ id }) => id,
      )
    const moved = await idsOf()
    server = await startOn(scene.data, { port: scene.port })
    await expectServed(scene)
    await server.stop()
    dropConnections(server.url)
    // In each project, and in the records of the node.
    const made = (await idsOf()).filter((id) => !moved.includes(id))
    expect(made.length).toBeGreaterThan(1)
    expect(made.filter((id) => id <= (moved.sort().at(-1) ?? ''))).toEqual([])
  })

  test('the way back fills an empty folder only', async () => {
    const folder = temporary()
    writeFileSync(join(folder, 'letter.txt'), 'somebody wrote this')
    const refused = await bridge('move', '--to', folder, '--database', database.url)
    expect(refused).toMatchObject({ code: 7, stderr: expect.stringContaining('such as letter.txt') })
    expect(readdirSync(folder)).toEqual(['letter.txt'])
  })

  test('the way back is refused while a server runs, here or elsewhere', async () => {
    const running = await startOn(scene.data)
    const folder = temporary()
    expect(await bridge('move', '--to', folder, '--database', database.url)).toMatchObject({
      code: 7,
      stderr: expect.stringContaining(`process ${process.pid}) uses ${scene.data}`),
    })
    const elsewhere = ['--data', temporary(), '--database', database.url]
    expect(await desk.run(['server', 'move', '--to', folder, ...elsewhere])).toMatchObject({
      code: 7,
      stderr: expect.stringContaining('serves this database'),
    })
    await running.stop()
  })

  test.each([
    ['the packages', '150k'],
    ['the rows', '450k'],
  ])('a folder whose disk is full at %s is left empty, and the source unchanged', async (_what, size) => {
    const folder = smallDisk(size)
    if (folder === undefined) return
    const full = await bridge('move', '--to', folder.path, '--database', database.url).finally(folder.read)
    expect(full).toMatchObject({ code: 1, stderr: expect.stringContaining('free some space') })
    expect(folder.names).toEqual(['lock.db'])
    expect(await database.query('SELECT 1 FROM moved')).toEqual([])
  })

  test('the way back takes everything along, and the database starts no node', async () => {
    const folder = join(temporary(), 'back')
    const back = await bridge('move', '--to', folder, '--database', database.url, '--json')
    expect(back).toMatchObject({ code: 0 })
    const { tables, packages } = JSON.parse(back.stdout) as Report
    expect(tables.map(({ table }) => table)).toEqual(copiedTables.map(({ name }) => name))
    expect(packages).toEqual({ files: 1, bytes: scene.file.length })
    for (const words of [['start'], ['maintain'], ['doctor'], ['owner-link']]) {
      const { code, stdout, stderr } = await bridge(...words, '--database', database.url)
      expect({ words, code }).toEqual({ words, code: 7 })
      expect(stdout + stderr).toContain(`was moved to ${folder}`)
    }
    expect(await bridge('move', '--to', `${folder}-2`, '--database', database.url)).toMatchObject({ code: 7 })
    server = await startOn(folder, { port: scene.port })
    await expectServed({ ...scene, bodies: [...scene.bodies, 'after the move'] })
    await server.stop()
    dropConnections(server.url)
  })
})

interface SmallDisk {
  readonly path: string
  /** Names of the files when `read` was called. */
  readonly names: string[]
  /** Reads the names and removes the disk. */
  read(): void
}

/** Undefined if this user may not mount a disk. */
function smallDisk(size: string): SmallDisk | undefined {
  const path = join(temporary(), 'disk')
  mkdirSync(path)
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size},mode=700`, 'tmpfs', path], { stdio: 'ignore' })
  } catch {
    return undefined
  }
  const names: string[] = []
  const read = () => {
    names.push(...readdirSync(path))
    execFileSync('umount', [path])
  }
  return { path, names, read }
}
