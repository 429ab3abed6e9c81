/** How Kysely writes SQL for SQLite. */
import { Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from 'kysely'
import type { StoreDialect } from '../connection.ts'
import { storeDialect } from '../dialect.ts'
import type { Tables } from '../tables.ts'

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

export const sqliteDialect: StoreDialect = storeDialect('sqlite', {
  createAdapter: () => new SqliteAdapter(),
  createIntrospector: (db) => new SqliteIntrospector(db),
  compiler: () => new KeptPlanCompiler(),
  preparedCompiler: () => new PreparedCompiler(),
})

/** Kysely instance that builds and compiles queries and has no database. */
export const compileOnly = new Kysely<Tables>(sqliteDialect.config)
