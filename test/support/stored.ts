/**
 * All stored data of an installation, to compare before and after.
 *
 * Left out are nonces (a refused request spends them), the audit records of refusals, the times of contact (it
 * may renew them), and the readings of the clocks. On PostgreSQL also the lanes, and what nodes write as time
 * passes.
 *
 * While a node serves, also the replay floor is left out: its purge of old nonces raises it every 15 s, once
 * the node has run for five minutes, and no request does.
 */
import { isDeepStrictEqual } from 'node:util'
import { expect } from 'vitest'
import { isOnPostgres } from './postgres.ts'
import { openStore, type StoreStatement, type TestStore } from './test-store.ts'

const spent = [
  'nonces',
  'maintenance',
  'steady_clock',
  'lanes',
  'nodes',
  'leases',
  'listeners',
  'sign_in_failures',
]
const purged = 'replay_floor'
/** The name of a table that the test creates. */
const counter = 'counted_changes'
const unrefused = "WHERE kind <> 'access.refused'"
const contact = ['last_contact_at', 'last_used_at']

/**
 * A map from table to one line per row, with the values as SQL writes them: fast to make and compare, and
 * still readable.
 */
export type Stored = Readonly<Record<string, readonly string[]>>

interface Line {
  readonly of: string
  readonly line: string
}

/** Reads one store repeatedly: half of the time of a read is opening the store and preparing the queries. */
export class StoredReader {
  readonly #store: TestStore
  readonly #lines: StoreStatement<Line>
  readonly #countChanges: StoreStatement<number> | undefined
  #changes: number | undefined
  #stored: Stored = {}

  /** A single read does not change the store. `served` is false if no node runs on it. */
  constructor(data: string, { once = false, served = true } = {}) {
    this.#store = openStore(data)
    const out = [...spent, counter, ...(served ? [purged] : [])]
    const tables = this.#store.tables().filter((table) => !out.includes(table))
    const quote = isOnPostgres ? 'quote_nullable' : 'quote'
    const lines = tables.map((table) => {
      const line = this.#columnsOf(table).map((column) => `'${column} ' || ${quote}(${column})`)
      const rows = `FROM ${table} ${table === 'audit' ? unrefused : ''}`
      return `SELECT '${table}' AS of, ${line.join(" || ', ' || ")} AS line ${rows}`
    })
    this.#lines = this.#store.prepare(`${lines.join(' UNION ALL ')}${isOnPostgres ? ' ORDER BY 1, 2' : ''}`)
    // The lanes of PostgreSQL would wait for each other at the row that the triggers change.
    if (!once && !isOnPostgres) this.#countChanges = this.#beginToCount(tables)
  }

  #columnsOf(table: string): string[] {
    return this.#store.columnsOf(table).filter((column) => !contact.includes(column))
  }

  /**
   * Triggers count each change of a row in its own transaction, so that unchanged tables are not read again.
   */
  #beginToCount(tables: readonly string[]): StoreStatement<number> {
    const triggers = tables
      .filter((table) => !table.startsWith('sqlite_'))
      .flatMap((table) =>
        ['INSERT', 'DELETE', `UPDATE OF ${this.#columnsOf(table).join(', ')}`].map(
          (
            event,
          ) => `CREATE TRIGGER IF NOT EXISTS ${counter}_${table}_${event.slice(0, 6)} AFTER ${event} ON ${table}
            BEGIN UPDATE ${counter} SET changes = changes + 1; END`,
        ),
      )
    this.#store.exec(`
      BEGIN IMMEDIATE;
      CREATE TABLE IF NOT EXISTS ${counter} (one INTEGER PRIMARY KEY, changes INTEGER NOT NULL) STRICT;
      INSERT OR IGNORE INTO ${counter} VALUES (1, 0);
      ${triggers.join(';\n')};
      COMMIT`)
    return this.#store.prepare<number>(`SELECT changes FROM ${counter}`).pluck()
  }

  read(): Stored {
    const changes = this.#countChanges?.get()
    if (changes === undefined || changes !== this.#changes) {
      const rows = Object.groupBy(this.#lines.all(), ({ of }) => of)
      this.#stored = Object.fromEntries(
        Object.entries(rows).map(([table, found = []]) => [table, found.map(({ line }) => line)]),
      )
      this.#changes = changes
    }
    return this.#stored
  }

  close(): void {
    this.#store.close()
  }
}

export function stored(data: string, { served = true } = {}): Stored {
  const reader = new StoredReader(data, { once: true, served })
  try {
    return reader.read()
  } finally {
    reader.close()
  }
}

/** Expects that the stores are the same, and shows only the lines that differ: Vitest cuts long values. */
export function expectSame(after: readonly Stored[], before: readonly Stored[]): void {
  if (isDeepStrictEqual(after, before)) return
  expect(changesBetween(before, after)).toEqual([])
  // The lines are the same, so their order differs.
  expect(after).toEqual(before)
}

/** The lines that are gone and those that are new, each with its store and its table. */
export function changesBetween(before: readonly Stored[], after: readonly Stored[]): string[] {
  const gone = countLines(before)
  const added: string[] = []
  for (const [line, count] of countLines(after)) {
    const more = count - (gone.get(line) ?? 0)
    gone.set(line, -more)
    for (let nth = 0; nth < more; nth += 1) added.push(`+ ${line}`)
  }
  const removed = [...gone].flatMap(([line, count]) =>
    Array.from({ length: Math.max(0, count) }, () => `- ${line}`),
  )
  return [...removed, ...added]
}

function countLines(stores: readonly Stored[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const [index, store] of stores.entries())
    for (const [table, lines] of Object.entries(store))
      for (const line of lines) {
        const named = `${index} ${table}: ${line}`
        counts.set(named, (counts.get(named) ?? 0) + 1)
      }
  return counts
}
