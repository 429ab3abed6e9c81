/**
 * Kysely dialect for SQLite, with one Kysely instance per unit of work over that unit's connection.
 *
 * Kysely's own driver does not fit for three reasons. It begins deferred transactions. It prepares the
 * statement at each call. Inside a transaction, a query on the outer instance waits forever. Here a unit can
 * reach only its own instance.
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
 * Writes `+?` in place of `?`. If a bare parameter may help the planner, SQLite plans a join again at each
 * run, which takes ten times as long as the run. With the plus the value is the same and SQLite keeps the
 * plan. `prepared.test.ts` measures it.
 */
class KeptPlanCompiler extends SqliteQueryCompiler {
  protected override getCurrentParameterPlaceholder(): string {
    return `+${super.getCurrentParameterPlaceholder()}`
  }
}

/** Marks the place of a value that the caller passes when the query runs. */
export class Placeholder {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

/**
 * Compiler for prepared queries. It writes constant values into the SQL text. SQLite uses a partial index
 * only if it sees in the text that the query meets the condition of the index.
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

/** Kysely instance that builds and compiles queries and has no database. */
export const compileOnly = new Kysely<Tables>(config)

/** {@link compileOnly} for prepared queries, whose variable values are placeholders. */
export const prepareOnly = new Kysely<Tables>({
  dialect: { ...dialect, createQueryCompiler: () => new PreparedCompiler() },
})

/**
 * Executor that calls the synchronous connection directly, which takes fewer promises than the default
 * executor.
 */
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

/** Returns the connection of the unit that this Kysely instance belongs to. */
export function connectionOf(db: Db): UnitConnection {
  const executor = db.getExecutor()
  if (executor instanceof UnitExecutor) return executor.connection
  throw new Error('a prepared query runs in a unit of work only')
}

/**
 * Returns a Kysely instance for one unit. It is a `Transaction`, so Kysely refuses to begin another one
 * inside.
 */
export function unitDb(connection: UnitConnection): Db {
  return new Transaction<Tables>({ config, dialect, driver, executor: new UnitExecutor(connection) })
}
