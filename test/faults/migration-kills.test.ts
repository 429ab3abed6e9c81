/**
 * An upgrade that is killed at successive writes to the WAL. Complete steps stay, and the step in progress
 * leaves no trace. The next start finishes the others with every row of an undisturbed upgrade.
 *
 * The default is two moments. BRIDGE_POSITIONS=400 covers that many writes, and the syncs, until the upgrade
 * finishes. `test/server/database/migrate.test.ts` kills after every statement of three small steps.
 * Reliability §3.1 F29.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { migrations } from '../../server/database/migrations/index.ts'
import { baselineLength } from '../../server/database/migrations/replaced.ts'
import { migrate, migrationStatus } from '../../server/database/sqlite/migrate.ts'
import { openDatabase } from '../../server/database/sqlite/open.ts'
import { insertServer } from '../../server/database/sqlite/server-id.ts'
import { databasePath } from '../../server/storage/data-folder.ts'
import { databaseBeforeBaseline } from '../server/database/before-baseline.ts'
import { startBridge } from '../support/bridge.ts'
import { sqliteOnly } from '../support/one-store.ts'
import { type Stored, stored } from '../support/stored.ts'
import { canTrace } from '../support/strace.ts'

sqliteOnly('test/faults/postgres/migration-kills.test.ts')

const positions = Number(process.env.BRIDGE_POSITIONS ?? 0)
const isFull = positions > 0
const child = fileURLToPath(new URL('./lab/upgrade-process.ts', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'bridge-upgrade-'))
/**
 * An installation with the schema of the first steps and with rows; and its state after an undisturbed
 * upgrade.
 */
const early = join(folder, 'early')
const data = join(folder, 'data')
let whole: Stored
/**
 * The number of steps in its schema. Later steps create the tables of tasks, transfers, nonces, audit and
 * others.
 */
const first = 15

beforeAll(async () => {
  if (!canTrace) return
  mkdirSync(early, { mode: 0o700 })
  const database = openDatabase(databasePath(early))
  migrate(database, migrations.slice(0, first), () => new Date())
  insertServer(database, 'an-earlier-server', new Date())
  await fillAs(database)
  database.close()
  renew()
  expect(await upgraded([])).toBe('open')
  whole = rows()
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Copies the rows of a current node, in the columns that existed then. */
async function fillAs(database: Database.Database): Promise<void> {
  const bridge = await startBridge()
  try {
    const { ada, ben } = bridge
    const conversation = await ada.conversationWith(ben.id)
    for (let count = 0; count < 60; count += 1) await ada.send(conversation, ben.id, `message ${count}`)
    database.pragma('foreign_keys = OFF')
    database.exec(`ATTACH '${databasePath(bridge.data)}' AS today`)
    for (const table of [
      'owner_users',
      'projects',
      'agents',
      'pairings',
      'enrollments',
      'sessions',
      'conversations',
      'messages',
      'inboxes',
    ]) {
      const columns = columnsOf(database, 'main', table)
      const both = columnsOf(database, 'today', table).filter((name) => columns.includes(name))
      database.exec(`INSERT INTO main.${table} (${both}) SELECT ${both} FROM today.${table}`)
    }
    database.exec('DETACH today')
  } finally {
    await bridge.close()
  }
}

const columnsOf = (database: Database.Database, schema: string, table: string): string[] =>
  database
    .prepare<[string, string], string>('SELECT name FROM pragma_table_info(?, ?)')
    .pluck()
    .all(table, schema)

function renew(from = early): void {
  rmSync(data, { recursive: true, force: true })
  cpSync(from, data, { recursive: true })
}

/** All rows, without the time at which each step ran. */
const rows = (): Stored => ({ ...stored(data, { served: false }), schema_migrations: [], schema: schemaOf() })

const schemaOf = (): string[] =>
  inData((database) =>
    database
      .prepare<[], string>('SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name')
      .pluck()
      .all(),
  )

function inData<T>(act: (database: Database.Database) => T): T {
  const database = new Database(databasePath(data), { fileMustExist: true })
  try {
    return act(database)
  } finally {
    database.close()
  }
}

/** Returns the last output of the process: `open`, or nothing if it was killed earlier. */
async function upgraded(tracing: readonly string[]): Promise<string> {
  const command = [process.execPath, child, data]
  const [program = '', ...args] =
    tracing.length === 0 ? command : ['strace', '-f', '-o', '/dev/null', ...tracing, ...command]
  const started = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  let said = ''
  started.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  await once(started, 'close')
  return said.trim()
}

/** False if it finished first. */
async function killedAt(call: string, nth: number, from = early): Promise<boolean> {
  renew(from)
  const log = `${databasePath(data)}-wal`
  return (await upgraded(['-P', log, '-e', `inject=${call}:signal=SIGKILL:when=${nth}`])) !== 'open'
}

/** Checks that only complete steps are stored and that the file is valid; returns the number of steps. */
const stepsLeft = (): number =>
  inData((database) => {
    expect(database.pragma('integrity_check', { simple: true })).toBe('ok')
    const done = migrationStatus(database)
    expect(done).toEqual(migrations.slice(0, done.length).map(({ number }) => number))
    return done.length
  })

test.skipIf(!canTrace)(
  'a killed upgrade leaves complete steps, and the next start finishes it with every row',
  { timeout: 300_000 + positions * 10_000 },
  async () => {
    const places = isFull
      ? ['pwrite64', 'fsync,fdatasync'].map((call) => ({ call, from: 1, to: positions }))
      : [
          { call: 'pwrite64', from: 40, to: 40 },
          { call: 'fsync,fdatasync', from: 3, to: 3 },
        ]
    const reached = new Set<number>()
    let kills = 0
    for (const { call, from, to } of places) {
      for (let nth = from; nth <= to && (await killedAt(call, nth)); nth += 1) {
        kills += 1
        reached.add(stepsLeft())
        expect(await upgraded([]), `${call} ${nth}`).toBe('open')
        expect(rows(), `${call} ${nth}`).toEqual(whole)
      }
    }
    process.stderr.write(`killed ${kills} times, at steps ${[...reached].join(', ')}\n`)
    expect(kills).toBeGreaterThanOrEqual(isFull ? migrations.length - first : places.length)
    expect(Math.min(...reached)).toBeGreaterThanOrEqual(first)
  },
)

type Rows = Readonly<Record<string, readonly string[]>>

/**
 * Returns the rows of the tables of `before`, without the columns that a later migration added at their ends.
 */
const keptOf = (before: Rows, after: Rows): Rows =>
  Object.fromEntries(
    Object.entries(before).map(([table, rows]) => [
      table,
      (after[table] ?? []).map((row, nth) => (row.startsWith(`${rows[nth]}, `) ? (rows[nth] ?? '') : row)),
    ]),
  )

test.skipIf(!canTrace)(
  'a kill while the record of the replaced migrations becomes that of the baseline leaves one of the two, and every row',
  { timeout: 300_000 },
  async () => {
    const old = join(folder, 'old')
    mkdirSync(old, { mode: 0o700 })
    databaseBeforeBaseline(databasePath(old)).close()
    renew(old)
    const recorded = () => inData((database) => database.prepare('SELECT * FROM schema_migrations').all())
    const steps = recorded()
    const { schema_migrations: _, ...before } = stored(data, { served: false })
    let kills = 0
    for (let nth = 1; await killedAt('pwrite64', nth, old); nth += 1) {
      kills += 1
      expect(stepsLeft(), `write ${nth}`).toBeGreaterThanOrEqual(baselineLength)
      if (nth === 1) expect(recorded()).toEqual(steps)
      expect(await upgraded([]), `write ${nth}`).toBe('open')
      expect(keptOf(before, stored(data, { served: false })), `write ${nth}`).toEqual(before)
      expect(recorded(), `write ${nth}`).toHaveLength(migrations.length)
      if (!isFull && kills === 3) break
    }
    expect(kills).toBeGreaterThanOrEqual(3)
  },
)
