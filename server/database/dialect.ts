/**
 * One Kysely instance per unit of work over that unit's view of a connection.
 *
 * Kysely's own drivers do not fit for three reasons. They begin deferred transactions. They prepare the
 * statement at each call. Inside a transaction, a query on the outer instance waits forever. Here a unit can
 * reach only its own instance.
 */
import {
  type AbortableQueryOptions,
  type CompiledQuery,
  DefaultQueryExecutor,
  type Dialect,
  DummyDriver,
  Kysely,
  type QueryCompiler,
  type QueryResult,
  Transaction,
} from 'kysely'
import type { DialectName, StoreDialect, UnitView } from './connection.ts'
import type { Db, Tables } from './tables.ts'

/** Marks the place of a value that the caller passes when the query runs. */
export class Placeholder {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

interface DialectParts extends Pick<Dialect, 'createAdapter' | 'createIntrospector'> {
  readonly compiler: () => QueryCompiler
  /** Compiler for prepared queries, whose constants become part of the SQL text. */
  readonly preparedCompiler: () => QueryCompiler
}

export function storeDialect(name: DialectName, parts: DialectParts): StoreDialect {
  const { createAdapter, createIntrospector, compiler, preparedCompiler } = parts
  const kysely = (createQueryCompiler: () => QueryCompiler): Dialect => ({
    createAdapter,
    createIntrospector,
    createQueryCompiler,
    createDriver: () => driver,
  })
  return {
    name,
    config: { dialect: kysely(compiler) },
    compiler: compiler(),
    adapter: createAdapter(),
    prepareOnly: new Kysely<Tables>({ dialect: kysely(preparedCompiler) }),
  }
}

const driver = new DummyDriver()

/** Executor that calls the view directly, which takes fewer promises than the default executor. */
class UnitExecutor extends DefaultQueryExecutor {
  readonly view: UnitView

  constructor(view: UnitView) {
    super(view.dialect.compiler, view.dialect.adapter, view)
    this.view = view
  }

  override async executeQuery<R>(
    query: CompiledQuery,
    options?: AbortableQueryOptions,
  ): Promise<QueryResult<R>> {
    if (options?.signal !== undefined) return super.executeQuery(query, options)
    return this.view.execute<R>(query)
  }
}

/** Returns the view of the unit that this Kysely instance belongs to. */
export function viewOf(db: Db): UnitView {
  const executor = db.getExecutor()
  if (executor instanceof UnitExecutor) return executor.view
  throw new Error('a prepared query runs in a unit of work only')
}

/**
 * Returns a Kysely instance for one unit. It is a `Transaction`, so Kysely refuses to begin another one
 * inside.
 */
export function unitDb(view: UnitView): Db {
  return new Transaction<Tables>({
    config: view.dialect.config,
    dialect: view.dialect.config.dialect,
    driver,
    executor: new UnitExecutor(view),
  })
}
