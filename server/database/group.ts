/**
 * One group of requests in one transaction: all of it reaches the log, or nothing does.
 *
 * - BEGIN IMMEDIATE: a deferred transaction that reads before it writes fails at once when another process wrote in
 *   between, whatever the busy timeout says.
 * - Before each SAVEPOINT the connection must still be in the transaction: outside one, SAVEPOINT begins its own and
 *   RELEASE commits it.
 *
 * Contract §2 "Group commit".
 */
import type Database from 'better-sqlite3'
import { isGrave, Statements, sqliteCode } from './connection.ts'
import type { Nonce, Nonces } from './nonces.ts'
import { UnitOverrunError, withinTurn } from './overrun.ts'
import type { SteadyClock } from './steady-clock.ts'
import { type Tx, Unit, type UnitChance, UnitEndedError } from './tx.ts'

export interface Request {
  readonly unit: (tx: Tx) => Promise<unknown>
  readonly nonce: Nonce | undefined
}

/** What one request of a committed group is told. */
export type Outcome =
  | { readonly ok: true; readonly value: unknown; readonly effects: readonly (() => void)[] }
  | { readonly ok: false; readonly error: unknown }

/** Nothing of the group may be believed. */
export class GroupFailedError extends Error {
  override readonly name = 'GroupFailedError'
  /** The disk had no room, so nothing was stored. */
  readonly full: boolean
  /** The disk, or what it now holds, is in doubt: this connection must not be used again. */
  readonly fatal: boolean

  constructor(cause: unknown, fatal: boolean) {
    super('a group of writes failed', { cause })
    this.full = !fatal && sqliteCode(cause) === 'SQLITE_FULL'
    this.fatal = fatal
  }
}

export interface GroupOptions extends UnitChance {
  readonly database: Database.Database
  /** Its reading goes with the commit of a group. */
  readonly steady: SteadyClock
  readonly nonces: Nonces
  /** For durations: never steps. */
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
   * To be called from within a microtask. Afterwards the log holds the group, the disk not yet.
   *
   * @throws GroupFailedError, then nothing of the group is stored, or all is in doubt.
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
      const doubtful = !full && (committing || isGrave(error))
      throw new GroupFailedError(error, !this.#rolledBack() || doubtful)
    }
  }

  async #perform({ unit, nonce }: Request): Promise<Outcome> {
    const refusal = nonce && this.#options.nonces.spend(nonce)
    if (refusal !== undefined) return { ok: false, error: refusal }
    this.#savepoint.run()
    const tx = new Unit(this.#statements, this.#options)
    const outcome = await settled(tx, unit)
    this.#requireIntact(tx)
    if (!outcome.ok) this.#undo.run()
    this.#release.run()
    return outcome
  }

  /** SQLite may have ended the transaction by itself, and the unit may have swallowed the error that said so. */
  #requireIntact(tx: Unit): void {
    if (tx.connection.lost !== undefined) throw tx.connection.lost
    if (!this.#options.database.inTransaction) throw new Error('the transaction ended before its group did')
  }

  #rolledBack(): boolean {
    try {
      if (this.#options.database.inTransaction) this.#rollback.run()
      return true
    } catch {
      // What made the group fail is the error to report; this one only says that the connection is of no use.
      return false
    }
  }
}

/** Runs the unit to its end, by itself or by force, and takes its transaction back. */
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
