/**
 * Queries of the hot path. Each is built and compiled once per process and database, and runs with different parameters
 * each time.
 *
 *     const findAgent = prepared<{ id: string }>()((db, p) =>
 *       db.selectFrom('agents').select('name').where('id', '=', p('id')))
 *     const agent = await findAgent.first(tx.db, { id })
 *
 * `p(name)` marks the place of a parameter and has its type. Any other value becomes part of the SQL text.
 * The number of parameters is fixed, so a list of variable length in `in (…)` is not possible.
 * A query names its columns; `columns.ts` says why.
 */
import type { Compilable } from 'kysely'
import type { DialectName, NumberedQuery, StoreDialect } from './connection.ts'
import { Placeholder, viewOf } from './dialect.ts'
import type { Db } from './tables.ts'

export interface Prepared<P, O> {
  all(db: Db, parameters: P): Promise<O[]>
  first(db: Db, parameters: P): Promise<O | undefined>
  /** Returns the number of rows that were inserted, updated or deleted. It is no bigint, so `=== 1` works. */
  run(db: Db, parameters: P): Promise<number>
}

/** Writes the SQL of each query that the loaded files prepare. */
const writers: ((dialect: StoreDialect) => string)[] = []

/** Returns the SQL of every query, so that a test can prepare it on each database. */
export const everyPrepared = (dialect: StoreDialect): string[] => writers.map((write) => write(dialect))

type Placeholders<P> = <K extends keyof P & string>(name: K) => P[K]

/**
 * Two calls, because TypeScript infers all type arguments or none. The caller gives `P`; TypeScript infers
 * the row type.
 */
export function prepared<P extends object>() {
  return <O>(build: (db: Db, p: Placeholders<P>) => Compilable<O>): Prepared<P, O> => {
    const queries: Partial<Record<DialectName, Query<P>>> = {}
    const queryFor = (dialect: StoreDialect): Query<P> => (queries[dialect.name] ??= compile(build, dialect))
    writers.push((dialect) => queryFor(dialect).sql)
    return {
      async all(db, parameters) {
        const view = viewOf(db)
        const query = queryFor(view.dialect)
        return view.all(query, query.bind(parameters)) as O[]
      },
      async first(db, parameters) {
        const view = viewOf(db)
        const query = queryFor(view.dialect)
        return view.first(query, query.bind(parameters)) as O | undefined
      },
      async run(db, parameters) {
        const view = viewOf(db)
        const query = queryFor(view.dialect)
        return view.run(query, query.bind(parameters))
      },
    }
  }
}

interface Query<P> extends NumberedQuery {
  bind(parameters: P): unknown[]
}

let compiled = 0

function compile<P extends object, O>(
  build: (db: Db, p: Placeholders<P>) => Compilable<O>,
  { prepareOnly }: StoreDialect,
): Query<P> {
  // Kysely copies a value of an unknown class to the parameter list without a change.
  const { sql, parameters: places } = build(prepareOnly, (name) => new Placeholder(name) as never).compile()
  const bind = (parameters: P) => {
    const values: unknown[] = []
    for (const place of places)
      values.push(place instanceof Placeholder ? requireValue(parameters, place) : place)
    return values
  }
  compiled += 1
  return { number: compiled, sql, bind }
}

function requireValue(parameters: object, { name }: Placeholder): unknown {
  const value = (parameters as Record<string, unknown>)[name]
  if (value === undefined) throw new TypeError(`parameter ${name} is missing`)
  return value
}
