/**
 * Queries of the hot path: built and compiled once per process, run with other parameters each time.
 *
 *     const findAgent = prepared<{ id: string }>()((db, p) =>
 *       db.selectFrom('agents').selectAll().where('id', '=', p('id')))
 *     const agent = await findAgent.first(tx.db, { id })
 *
 * `p(name)` stands where a value would; its type is that of the parameter. The number of parameters is fixed, so a
 * list in `in (…)` is not for here. Any other value becomes part of the text.
 */
import type { Compilable } from 'kysely'
import type { Numbered } from './connection.ts'
import { connectionOf, Placeholder, prepareOnly } from './dialect.ts'
import type { Db } from './tables.ts'

export interface Prepared<P, O> {
  all(db: Db, parameters: P): Promise<O[]>
  first(db: Db, parameters: P): Promise<O | undefined>
  /** How many rows were inserted, updated or deleted; a plain number, so that `=== 1` means what it says. */
  run(db: Db, parameters: P): Promise<number>
}

type Places<P> = <K extends keyof P & string>(name: K) => P[K]

/** Two calls, because TypeScript infers either all type arguments or none: `P` is given, the row type is inferred. */
export function prepared<P extends object>() {
  return <O>(build: (db: Db, p: Places<P>) => Compilable<O>): Prepared<P, O> => {
    let query: Query<P> | undefined
    return {
      async all(db, parameters) {
        query ??= compile(build)
        return connectionOf(db).all(query, query.bind(parameters)) as O[]
      },
      async first(db, parameters) {
        query ??= compile(build)
        return connectionOf(db).first(query, query.bind(parameters)) as O | undefined
      },
      async run(db, parameters) {
        query ??= compile(build)
        return connectionOf(db).run(query, query.bind(parameters))
      },
    }
  }
}

interface Query<P> extends Numbered {
  bind(parameters: P): unknown[]
}

let compiled = 0

function compile<P extends object, O>(build: (db: Db, p: Places<P>) => Compilable<O>): Query<P> {
  // Kysely carries a value that it does not know through to the parameter list untouched.
  const { sql, parameters: places } = build(prepareOnly, (name) => new Placeholder(name) as never).compile()
  const bind = (parameters: P) => {
    const values: unknown[] = []
    for (const place of places) values.push(place instanceof Placeholder ? given(parameters, place) : place)
    return values
  }
  compiled += 1
  return { number: compiled, sql, bind }
}

function given(parameters: object, { name }: Placeholder): unknown {
  const value = (parameters as Record<string, unknown>)[name]
  if (value === undefined) throw new TypeError(`parameter ${name} is missing`)
  return value
}
