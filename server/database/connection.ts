/** Interface of the view that one unit of work has of a connection, which each database implements. */
import type {
  CompiledQuery,
  ConnectionProvider,
  Dialect,
  DialectAdapter,
  Kysely,
  QueryCompiler,
  QueryResult,
} from 'kysely'
import type { Tables } from './tables.ts'

export type DialectName = 'sqlite' | 'postgres'

/** How Kysely writes SQL for one database. */
export interface StoreDialect {
  readonly name: DialectName
  readonly config: { readonly dialect: Dialect }
  readonly compiler: QueryCompiler
  readonly adapter: DialectAdapter
  /** Kysely instance that builds prepared queries and has no database. */
  readonly prepareOnly: Kysely<Tables>
}

/** Query that the program prepares once. Each connection finds its statement by the number. */
export interface NumberedQuery {
  readonly number: number
  readonly sql: string
}

type Soon<T> = T | Promise<T>

export interface UnitView extends ConnectionProvider {
  readonly dialect: StoreDialect
  /** Throws if the unit has ended or its transaction is lost. */
  requireOpen(): void
  /**
   * Closes the view. Each later use calls `refuse` and throws its error, so that the stack shows the caller.
   */
  end(refuse: () => Error): void
  execute<R>(query: CompiledQuery): Soon<QueryResult<R>>
  all(query: NumberedQuery, parameters: readonly unknown[]): Soon<unknown[]>
  first(query: NumberedQuery, parameters: readonly unknown[]): Soon<unknown>
  /** Returns the number of rows that changed. */
  run(query: NumberedQuery, parameters: readonly unknown[]): Soon<number>
}
