/**
 * The SQL that a server of this process runs, and how SQLite goes about it.
 *
 * What is recorded is each statement at each of its runs, so a test explains what was asked and not what it believes.
 */
import Database from 'better-sqlite3'
import { tamper } from '../server/maintenance/upkeep.ts'

/** The texts of what ran meanwhile, each once. */
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
 * What the request runs whenever it is made: of two runs what both had. What the server does by its clock meanwhile is in
 * one of them at most.
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

/** By the store of the server, in its present shape. */
export function explain(data: string, texts: readonly string[]): Explained[] {
  return tamper(data, (database) =>
    texts.map((text) => {
      const values = Array.from(text.replaceAll(/'[^']*'/g, '').matchAll(/\?/g), () => null)
      const rows = database.prepare<null[], { detail: string }>(`EXPLAIN QUERY PLAN ${text}`).all(...values)
      return { text, steps: rows.map(({ detail }) => detail) }
    }),
  )
}

/** No tables; tables of one row; `found`, which was limited before it is counted; and the kinds of an actor's records. */
const bounded = ['CONSTANT ROW', 'found', 'kinds', 'replay_floor', 'steady_clock', 'maintenance']
const whole = new RegExp(`^SCAN (?!(?:${bounded.join('|')})\\b)|TEMP B-TREE`)

/** What costs more with every row that is stored: a table or an index read from its beginning, rows put in order. */
export const growing = (explained: readonly Explained[]): Explained[] =>
  explained.filter(({ steps }) => steps.some((step) => whole.test(step)))

export const indexesOf = (explained: readonly Explained[]): string[] =>
  explained.flatMap(({ steps }) => steps.flatMap((step) => /INDEX (\w+)/.exec(step)?.[1] ?? []))
