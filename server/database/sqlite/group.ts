/**
 * Runs one group of requests in one transaction. Either the WAL holds the whole group, or none of it.
 *
 * - The group uses BEGIN IMMEDIATE. If another process writes between the read and the write of a deferred
 *   transaction, the write fails immediately and ignores the busy timeout.
 * - Before each SAVEPOINT the group checks that the transaction is still open. Outside a transaction,
 *   SAVEPOINT begins one and RELEASE commits it.
 *
 * Contract §2 "Group commit".
 */
import type Database from 'better-sqlite3'
import type { Outcome, Request } from '../request.ts'
import { Unit, type UnitChance, UnitEndedError } from '../tx.ts'
import { UnitOverrunError, withinTurn } from '../unit-overrun.ts'
import { isStorageFault, Statements, sqliteCode, UnitConnection } from './connection.ts'
import type { StoredNonces } from './nonces.ts'
import type { StoredSteadyClock } from './steady-clock.ts'

/** The group was not committed, or it is unknown whether it was. */
export class GroupFailedError extends Error {
  override readonly name = 'GroupFailedError'
  /** The disk had no space, so nothing was stored. */
  readonly full: boolean
  /** The content of the disk is unknown. This connection must not be used again. */
  readonly fatal: boolean

  constructor(cause: unknown, fatal: boolean) {
    super('a group of writes failed', { cause })
    this.full = !fatal && sqliteCode(cause) === 'SQLITE_FULL'
    this.fatal = fatal
  }
}

export interface GroupOptions extends UnitChance {
  readonly database: Database.Database
  /** Writes a reading in the transaction of a group, if one is due. */
  readonly steady: StoredSteadyClock
  readonly nonces: StoredNonces
  /** Milliseconds of a clock that is never set, for durations. */
  readonly monotonicMs: () => number
}

export class Groups {
  readonly #options: GroupOptions
  readonly #statements: Statements
  readonly #begin: Database.Statement
  readonly #savepoint: Database.Statement
  readonly #undo: Database.Statement
  readonly #release: Database.Statement
  readonly #commit: Database.Statement
  readonly #rollback: Database.Statement
  #commitBeganMs = 0

  constructor(options: GroupOptions) {
    const { database } = options
    this.#options = options
    this.#statements = new Statements(database)
    this.#begin = database.prepare('BEGIN IMMEDIATE')
    this.#savepoint = database.prepare('SAVEPOINT unit')
    this.#undo = database.prepare('ROLLBACK TO unit')
    this.#release = database.prepare('RELEASE unit')
    this.#commit = database.prepare('COMMIT')
    this.#rollback = database.prepare('ROLLBACK')
  }

  /** When the last COMMIT began. */
  get commitBeganMs(): number {
    return this.#commitBeganMs
  }

  /**
   * Runs the requests and commits them. Must be called from a microtask. Afterwards the WAL holds the group,
   * which is not yet durable.
   *
   * @throws GroupFailedError if nothing of the group was stored, or if the outcome is unknown
   */
  async run(requests: readonly Request[]): Promise<Outcome[]> {
    let committing = false
    try {
      this.#begin.run()
      const outcomes: Outcome[] = []
      for (const request of requests) outcomes.push(await this.#perform(request))
      this.#options.steady.note()
      committing = true
      this.#commitBeganMs = this.#options.monotonicMs()
      this.#commit.run()
      return outcomes
    } catch (error) {
      const full = sqliteCode(error) === 'SQLITE_FULL'
      const doubtful = !full && (committing || isStorageFault(error))
      throw new GroupFailedError(error, !this.#rolledBack() || doubtful)
    }
  }

  async #perform({ unit, nonce }: Request): Promise<Outcome> {
    const refusal = nonce && this.#options.nonces.spend(nonce)
    if (refusal !== undefined) return { ok: false, error: refusal }
    this.#savepoint.run()
    const connection = new UnitConnection(this.#statements)
    const outcome = await settled(new Unit(connection, this.#options), unit)
    this.#requireIntact(connection)
    if (!outcome.ok) this.#undo.run()
    this.#release.run()
    return outcome
  }

  /** Throws if SQLite has ended the transaction. The unit may have caught the error that reported it. */
  #requireIntact({ lost }: UnitConnection): void {
    if (lost !== undefined) throw lost
    if (!this.#options.database.inTransaction) throw new Error('the transaction ended before its group did')
  }

  #rolledBack(): boolean {
    try {
      if (this.#options.database.inTransaction) this.#rollback.run()
      return true
    } catch {
      // The caller reports the error that made the group fail. This one only shows that the connection is
      // unusable.
      return false
    }
  }
}

/** Runs the unit until it settles or overruns, then closes its view of the connection. */
async function settled(tx: Unit, unit: Request['unit']): Promise<Outcome> {
  try {
    const value = await withinTurn(unit(tx))
    tx.connection.end(() => new UnitEndedError())
    return { ok: true, value, effects: tx.effects }
  } catch (error) {
    tx.connection.end(() =>
      error instanceof UnitOverrunError ? new UnitOverrunError() : new UnitEndedError(),
    )
    return { ok: false, error }
  }
}
