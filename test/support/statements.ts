/**
 * Records the SQL that a server of this process runs, and explains how SQLite executes it.
 *
 * Each statement is recorded at each of its runs, so a test explains the real statements and not assumed
 * ones.
 */
import Database from 'better-sqlite3'
import { onFile } from './sqlite-file.ts'

/** Returns the distinct texts of the statements that ran during `act`. */
export async function statementsDuring(act: () => Promise<unknown>): Promise<string[]> {
  const database = new Database(':memory:')
  const prototype = Object.getPrototypeOf(database.prepare('SELECT 1')) as Database.Statement<unknown[]>
  database.close()
  const texts = new Set<string>()
  const original = { run: prototype.run, get: prototype.get, all: prototype.all }
  for (const name of ['run', 'get', 'all'] as const) {
    Object.assign(prototype, {
      [name](this: Database.Statement<unknown[]>, ...values: unknown[]) {
        texts.add(this.source)
        return original[name].apply(this, values)
      },
    })
  }
  try {
    await act()
  } finally {
    Object.assign(prototype, original)
  }
  return [...texts].filter((text) => /^\s*(?:select|insert|update|delete|with)\b/i.test(text))
}

/**
 * Returns the statements common to two runs of the request. A statement of the server's timers runs in at
 * most one of the two, so it is left out.
 */
export async function statementsOf(request: () => Promise<unknown>): Promise<string[]> {
  const first = await statementsDuring(request)
  const again = new Set(await statementsDuring(request))
  return first.filter((text) => again.has(text))
}

export interface Explained {
  readonly text: string
  readonly steps: readonly string[]
}

/** Explains the statements on the server's database as it is now. */
export function explain(data: string, texts: readonly string[]): Explained[] {
  return onFile(data, (database) =>
    texts.map((text) => {
      const values = Array.from(text.replaceAll(/'[^']*'/g, '').matchAll(/\?/g), () => null)
      const rows = database.prepare<null[], { detail: string }>(`EXPLAIN QUERY PLAN ${text}`).all(...values)
      return { text, steps: rows.map(({ detail }) => detail) }
    }),
  )
}

/**
 * Scans that stay small: no table, a table with one row, `found` (limited before it is counted), and `kinds`
 * (the kinds of an actor's records).
 */
const bounded = ['CONSTANT ROW', 'found', 'kinds', 'replay_floor', 'steady_clock', 'maintenance']
const whole = new RegExp(`^SCAN (?!(?:${bounded.join('|')})\\b)|TEMP B-TREE`)

/** The steps whose cost grows with every stored row: full scans of a table or an index, and sorts. */
export const growing = (explained: readonly Explained[]): Explained[] =>
  explained.filter(({ steps }) => steps.some((step) => whole.test(step)))

export const indexesOf = (explained: readonly Explained[]): string[] =>
  explained.flatMap(({ steps }) => steps.flatMap((step) => /INDEX (\w+)/.exec(step)?.[1] ?? []))
