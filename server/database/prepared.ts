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
import type { Compilable, CompiledQuery, Kysely } from 'kysely'
import { executeNow, Placeholder, prepareOnly } from './dialect.ts'
import type { Tables } from './tables.ts'

type Db = Kysely<Tables>

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
    let bind: ((parameters: P) => CompiledQuery<O>) | undefined
    const execute = (db: Db, parameters: P) => {
      bind ??= compile(build)
      return executeNow<O>(db, bind(parameters))
    }
    return {
      all: async (db, parameters) => execute(db, parameters).rows,
      first: async (db, parameters) => execute(db, parameters).rows[0],
      run: async (db, parameters) => Number(execute(db, parameters).numAffectedRows ?? 0n),
    }
  }
}

function compile<P extends object, O>(
  build: (db: Db, p: Places<P>) => Compilable<O>,
): (parameters: P) => CompiledQuery<O> {
  // Kysely carries a value that it does not know through to the parameter list untouched.
  const query = build(prepareOnly, (name) => new Placeholder(name) as never).compile()
  const values = query.parameters.map((value) => binding<P>(value))
  return (parameters) => ({ ...query, parameters: values.map((value) => value(parameters)) })
}

function binding<P extends object>(value: unknown): (parameters: P) => unknown {
  if (!(value instanceof Placeholder)) return () => value
  const name = value.name as keyof P
  return (parameters) => {
    const given = parameters[name]
    if (given === undefined) throw new TypeError(`parameter ${value.name} is missing`)
    return given
  }
}
