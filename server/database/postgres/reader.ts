/**
 * Reads snapshots on connections of their own, so a read never sees uncommitted data.
 *
 * - Reads that wait together share one snapshot, which begins after all of them were requested. So a caller
 *   that awaits a write and then reads sees that write. PostgreSQL shows a commit only once it is durable.
 * - The reads of a snapshot run at the same time, as the units of a wave do. If a statement fails,
 *   the reads that it affected run again, each on a snapshot of its own.
 * - If a table is locked for 2 s, or all connections are busy for 5 s, the read is refused. So it never waits
 *   for as long as another client holds a lock.
 * - If the process stands still for 10 s within a snapshot, the database ends the snapshot. Otherwise its
 *   locks would keep a migration waiting.
 * - A read awaits only queries of `db`, as a unit of work does.
 */
import { ApiError } from '../../api-error.ts'
import { retryAfterMs } from '../../retry-after.ts'
import { unitDb } from '../dialect.ts'
import type { Reader } from '../reader.ts'
import type { Db } from '../tables.ts'
import { UnitEndedError } from '../tx.ts'
import { type ConnectionSettings, isStatementError, isTrouble, PostgresConnection } from './connection.ts'
import { MergedStatements } from './merged.ts'
import type { Opening } from './opening.ts'
import { ReadPool, type Taken } from './read-pool.ts'
import { PostgresView } from './unit-view.ts'
import { Wave } from './wave.ts'

export interface ReaderOptions {
  readonly settings: ConnectionSettings
  readonly opening: Opening
  /** Runs on each new connection before anything else. */
  readonly check?: (connection: PostgresConnection) => Promise<void>
  readonly connections: number
  /** Most reads on one snapshot, by default 32. */
  readonly maxBatch?: number
  /** Whether equal statements of a snapshot are merged, by default yes. */
  readonly merges?: boolean
  readonly monotonicMs: () => number
}

interface Waiting {
  readonly askedMs: number
  readonly unit: (db: Db) => Promise<unknown>
  readonly resolve: (value: never) => void
  readonly reject: (error: unknown) => void
}

/** A read that has not begun by then is refused. */
const beginsWithinMs = 5000

const begin = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = '10s';
  SET LOCAL lock_timeout = '2s'; SET LOCAL idle_in_transaction_session_timeout = '10s'`

export function createReader(options: ReaderOptions): Reader {
  const queue = new ReadQueue(options)
  return {
    read: (unit) => queue.read(unit),
    afterReads: (act) => queue.afterReads(act),
    queueLength: () => queue.length,
    close: () => queue.close(),
  }
}

class ReadQueue {
  readonly #options: ReaderOptions
  readonly #waiting: Waiting[] = []
  readonly #running = new Set<Promise<void>>()
  readonly #pool: ReadPool
  readonly #merged: MergedStatements | undefined
  #workers = 0
  #isClosed = false
  #whenIdle = () => {}

  constructor(options: ReaderOptions) {
    this.#options = options
    const { opening, connections } = options
    this.#pool = new ReadPool({ opening, most: connections, open: () => this.#open() })
    this.#merged = options.merges === false ? undefined : new MergedStatements()
  }

  get length(): number {
    return this.#waiting.length
  }

  /** The first reads of requests run in the writer, which calls this after they have ended. */
  afterReads(act: () => void): void {
    void Promise.allSettled(this.#running).then(() => setImmediate(act))
  }

  read<T>(unit: (db: Db) => Promise<T>): Promise<T> {
    if (this.#isClosed) return Promise.reject(unavailable())
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ askedMs: this.#options.monotonicMs(), unit, resolve, reject })
      if (this.#workers < this.#options.connections) void this.#work()
    })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    if (this.#workers > 0) {
      await new Promise<void>((resolve) => {
        this.#whenIdle = resolve
      })
    }
    await this.#pool.close()
  }

  /** Runs batches until no read waits. */
  async #work(): Promise<void> {
    this.#workers += 1
    // Reads that are requested in the same microtask phase share the snapshot.
    await Promise.resolve()
    while (this.#waiting.length > 0) {
      try {
        await this.#runNext(await this.#pool.take())
      } catch (error) {
        for (const { reject } of this.#nextBatch()) reject(unavailable(error))
      }
    }
    this.#workers -= 1
    if (this.#workers === 0) this.#whenIdle()
  }

  /** The batch has the reads that arrived before there was a connection. */
  async #runNext(taken: Taken): Promise<void> {
    const running = this.#runBatch(taken, this.#nextBatch())
    this.#running.add(running)
    await running
    this.#running.delete(running)
  }

  #nextBatch(): readonly Waiting[] {
    return this.#waiting.splice(0, this.#options.maxBatch ?? 32)
  }

  async #runBatch(taken: Taken, batch: readonly Waiting[]): Promise<void> {
    try {
      const again = await this.#runInTime(taken, batch, false)
      for (const each of again) await this.#runAlone(each)
    } catch (error) {
      // A second settling of a promise does nothing.
      for (const { reject } of batch) reject(unavailable(error))
    }
  }

  /** A server that fails breaks all connections. So a read runs again until it has had a new one. */
  async #runAlone(read: Waiting): Promise<void> {
    let again: readonly Waiting[] = [read]
    while (again.length > 0) again = await this.#runInTime(await this.#pool.take(), again, true)
  }

  /** Refuses the reads that have waited for too long, and runs the others. Returns those that must run again. */
  async #runInTime(
    { connection, isNew }: Taken,
    batch: readonly Waiting[],
    isAlone: boolean,
  ): Promise<readonly Waiting[]> {
    const earliestMs = this.#options.monotonicMs() - beginsWithinMs
    const inTime = batch.filter(({ askedMs }) => askedMs >= earliestMs)
    for (const { askedMs, reject } of batch) if (askedMs < earliestMs) reject(unavailable())
    try {
      return inTime.length === 0 ? [] : await this.#runOn(connection, inTime, { isAlone, isNew })
    } finally {
      this.#pool.give(connection)
    }
  }

  async #open(): Promise<PostgresConnection> {
    const connection = await PostgresConnection.open(this.#options.settings)
    try {
      await this.#options.check?.(connection)
      return connection
    } catch (error) {
      await connection.close()
      throw error
    }
  }

  /** Returns the reads that must run again, because a statement on their snapshot failed. */
  async #runOn(
    connection: PostgresConnection,
    batch: readonly Waiting[],
    { isAlone, isNew }: { readonly isAlone: boolean; readonly isNew: boolean },
  ): Promise<readonly Waiting[]> {
    // Without its snapshot no statement may have an answer. All of them fail with the connection.
    const begun = connection.query({ text: begin }).catch(() => connection.drop())
    const wave = new Wave(connection, this.#merged)
    const failed: Waiting[] = []
    const perform = async (each: Waiting): Promise<void> => {
      const view = new PostgresView(wave.member())
      try {
        const value = await view.within(each.unit(unitDb(view)))
        if (view.lost === undefined) each.resolve(value as never)
      } catch (error) {
        if (view.lost === undefined) each.reject(error)
      } finally {
        view.end(() => new UnitEndedError())
      }
      if (view.lost === undefined) return
      const isRefused = isTrouble(view.lost) && isStatementError(view.lost)
      const mayWork = isAlone ? connection.isBroken && !isNew : !isRefused
      if (mayWork) failed.push(each)
      else each.reject(isTrouble(view.lost) ? unavailable(view.lost) : view.lost)
    }
    await Promise.all([begun, ...batch.map(perform)])
    if (!connection.isBroken) await connection.query({ text: 'COMMIT' })
    if (!connection.isBroken) await this.#merged?.learn(connection).catch(() => {})
    return failed
  }
}

/** Refusal of a read while the database does not answer, or after `close`. */
const unavailable = (cause?: unknown): ApiError =>
  new ApiError('unavailable', { retryAfterMs: retryAfterMs.restart, ...(cause !== undefined && { cause }) })
