/**
 * The small dialect: SQLite's compiler, and a Kysely instance per unit of work over that unit's own connection.
 *
 * Kysely's own driver is not used: it begins deferred, prepares on every call, and a query on the outer instance
 * inside a transaction waits for ever. Here there is no outer instance: a unit's is the only one it can reach.
 */
import {
  type AbortableQueryOptions,
  type CompiledQuery,
  type ConnectionProvider,
  DefaultQueryExecutor,
  type Dialect,
  DummyDriver,
  Kysely,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  Transaction,
} from 'kysely'
import type { UnitConnection } from './connection.ts'
import type { Db, Tables } from './tables.ts'

/**
 * `+?` in place of `?`. SQLite plans a join again at every run where a bare parameter may help the planner, which costs
 * ten times what running it does; behind a plus the value is the same and the plan is kept. `prepared.test.ts` measures it.
 */
class KeptPlanCompiler extends SqliteQueryCompiler {
  protected override getCurrentParameterPlaceholder(): string {
    return `+${super.getCurrentParameterPlaceholder()}`
  }
}

/** Stands for a value that is given when the query runs. */
export class Placeholder {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

/**
 * For queries that are compiled once: a value that they always have stands in their text. Only so does SQLite see that a
 * partial index holds every row that is asked for.
 */
class PreparedCompiler extends KeptPlanCompiler {
  protected override appendValue(value: unknown): void {
    if (typeof value === 'string' || typeof value === 'number') this.appendImmediateValue(value)
    else super.appendValue(value)
  }
}

const dialect: Dialect = {
  createAdapter: () => new SqliteAdapter(),
  createDriver: () => new DummyDriver(),
  createIntrospector: (db) => new SqliteIntrospector(db),
  createQueryCompiler: () => new KeptPlanCompiler(),
}

const adapter = new SqliteAdapter()
const compiler = new KeptPlanCompiler()
const driver = new DummyDriver()
const config = { dialect }

/** Builds and compiles queries, and can reach no database. */
export const compileOnly = new Kysely<Tables>(config)

/** {@link compileOnly} for queries whose other values are placeholders. */
export const prepareOnly = new Kysely<Tables>({
  dialect: { ...dialect, createQueryCompiler: () => new PreparedCompiler() },
})

/** The same result as the general executor with fewer promises on the way: the connection is at hand and synchronous. */
class UnitExecutor extends DefaultQueryExecutor {
  readonly #connection: UnitConnection

  constructor(connection: UnitConnection & ConnectionProvider) {
    super(compiler, adapter, connection)
    this.#connection = connection
  }

  override async executeQuery<R>(
    query: CompiledQuery,
    options?: AbortableQueryOptions,
  ): Promise<QueryResult<R>> {
    if (options?.signal !== undefined) return super.executeQuery(query, options)
    return this.#connection.execute<R>(query)
  }

  get connection(): UnitConnection {
    return this.#connection
  }
}

/** Of the unit to which this Kysely belongs. */
export function connectionOf(db: Db): UnitConnection {
  const executor = db.getExecutor()
  if (executor instanceof UnitExecutor) return executor.connection
  throw new Error('a prepared query runs in a unit of work only')
}

/** Kysely for one unit. It counts as a transaction, so that beginning another one is refused. */
export function unitDb(connection: UnitConnection): Db {
  return new Transaction<Tables>({ config, dialect, driver, executor: new UnitExecutor(connection) })
}
