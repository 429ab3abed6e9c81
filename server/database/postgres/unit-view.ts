/**
 * One unit's view of a connection to PostgreSQL, usable until `end`.
 *
 * An insert whose answer is known before it is sent is posted: the unit goes on without the answer. Later
 * statements of the connection see the row. If a posted insert fails, PostgreSQL refuses the rest of the
 * transaction, and the group runs again with an answer to each statement.
 */
import type { CompiledQuery, DatabaseConnection, QueryResult } from 'kysely'
import type { NumberedQuery, UnitView } from '../connection.ts'
import { UnitOverrunError } from '../unit-overrun.ts'
import type { Answer, Statement } from './connection.ts'
import { postgresDialect } from './dialect.ts'
import type { Asked } from './wave.ts'

const rowsOnly = /^\s*(?:select|insert|update|delete|with|values)\b/i
const readsOnly = /^\s*(?:select|values)\b/i
/** An insert that either stores one row or fails. Kysely writes it so. */
const oneRow =
  /^insert into "\w+" \([^()]*\) values \([^()]*\)(?: on conflict \("\w+"\) do update set [^()]*)?$/

/** The inserts of a group that were sent without waiting for their answers. */
export class Posted {
  readonly answers: Promise<unknown>[] = []
  #failure: unknown

  /** The first refusal that arrived. */
  get failure(): unknown {
    return this.#failure
  }

  add(answer: Promise<unknown>): void {
    this.answers.push(
      answer.catch((error: unknown) => {
        this.#failure ??= error
        throw error
      }),
    )
    // COMMIT waits for all of them. Until then a refusal is not unhandled.
    this.answers.at(-1)?.catch(() => {})
  }
}

export class PostgresView implements DatabaseConnection, UnitView {
  readonly dialect = postgresDialect
  readonly #connection: Asked
  readonly #posted: Posted | undefined
  #refuse: (() => Error) | undefined
  #lost: unknown
  #running = 0
  #wrote = false
  #whenIdle = () => {}

  /** Without `posted`, each statement waits for its answer. */
  constructor(connection: Asked, posted?: Posted) {
    this.#connection = connection
    this.#posted = posted
  }

  /** The first error of a statement. PostgreSQL then refuses all others of the transaction. */
  get lost(): unknown {
    return this.#lost
  }

  /** Whether the unit sent a statement that may change rows. */
  get wrote(): boolean {
    return this.#wrote
  }

  end(refuse: () => Error): void {
    this.#refuse = refuse
  }

  requireOpen(): void {
    if (this.#refuse !== undefined) throw this.#refuse()
    if (this.#lost !== undefined) throw this.#lost
  }

  /**
   * Settles as the promise of the unit does, or rejects with UnitOverrunError if the unit waits for something
   * other than its statements.
   */
  within<T>(promise: Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      let settled = false
      // A tick that a microtask asks for runs after all other microtasks.
      const check = () =>
        process.nextTick(() => {
          if (!settled && this.#running === 0) reject(new UnitOverrunError())
        })
      this.#whenIdle = () => queueMicrotask(check)
      this.#whenIdle()
      promise.then(
        (value) => {
          settled = true
          resolve(value)
        },
        (error: unknown) => {
          settled = true
          reject(error)
        },
      )
    })
  }

  async execute<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    const { rows, count, command } = await this.#run<R>({ text: query.sql, values: query.parameters })
    return command === 'SELECT' ? { rows } : { rows, numAffectedRows: BigInt(count) }
  }

  async all(query: NumberedQuery, parameters: readonly unknown[]): Promise<unknown[]> {
    return (await this.#run(named(query, parameters))).rows
  }

  async first(query: NumberedQuery, parameters: readonly unknown[]): Promise<unknown> {
    return (await this.#run(named(query, parameters))).rows[0]
  }

  async run(query: NumberedQuery, parameters: readonly unknown[]): Promise<number> {
    return (await this.#run(named(query, parameters))).count
  }

  async #run<R>(statement: Statement): Promise<Answer<R>> {
    this.requireOpen()
    const { text } = statement
    if (!rowsOnly.test(text)) throw new Error(`a unit may only read and write rows, not run: ${text}`)
    if (!readsOnly.test(text)) this.#wrote = true
    if (this.#posted !== undefined && oneRow.test(text)) {
      this.#posted.add(this.#connection.query(statement))
      return { rows: [], count: 1, command: 'INSERT' }
    }
    this.#running += 1
    try {
      return await this.#connection.query<R>(statement)
    } catch (error) {
      this.#lost ??= error
      throw error
    } finally {
      this.#running -= 1
      if (this.#running === 0) this.#whenIdle()
    }
  }

  executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    return this.execute<R>(query)
  }

  provideConnection<T>(consumer: (connection: DatabaseConnection) => Promise<T>): Promise<T> {
    return consumer(this)
  }

  // biome-ignore lint/correctness/useYield: an interface method that exists only to refuse
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error('streaming is not supported: read pages')
  }
}

const named = ({ number, sql }: NumberedQuery, values: readonly unknown[]): Statement => ({
  text: sql,
  values,
  name: `q${number}`,
})
