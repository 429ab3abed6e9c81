/** One unit of work inside the writer's transaction: what it may use while it runs, and nothing afterwards. */
import { ApiError } from '../api-error.ts'
import { retryAfterMs } from '../retry-after.ts'
import { type Statements, UnitConnection } from './connection.ts'
import { unitDb } from './dialect.ts'
import type { Ids } from './ids.ts'
import type { SteadyClock } from './steady-clock.ts'
import type { Db } from './tables.ts'

/** The power to write. Whoever takes a `Tx` writes; whoever takes only its `db` could be given a reader's. */
export interface Tx {
  readonly db: Db
  /** One unit, one now. */
  readonly now: Date
  /** `now` as the wire and the columns have it. */
  readonly nowIso: string
  /** Lifetimes are judged by it; see `steady-clock.ts`. */
  readonly steadyNow: Date
  readonly steadyIso: string
  /** When a row was stored, in steady time, by its id and its wall time. */
  readonly steadyOf: SteadyClock['steadyOf']
  /** Rows that were stored later than an instant of steady time have greater ids. */
  readonly idBefore: SteadyClock['idBefore']
  /** Where a lifetime that begins now ends, in steady time. */
  endIn(seconds: number): string
  /** A new id, greater than every id of the store. */
  id(): string
  /** To be asked before something new is stored; what spares or removes does not ask. @throws storage_full */
  requireRoom(): void
  /** Runs once the commit that holds this unit is on disk; never when it is rolled back. */
  afterCommit(effect: () => void): void
}

/** A transaction was used after its unit had ended: something in the unit was not awaited. */
export class UnitEndedError extends Error {
  override readonly name = 'UnitEndedError'
  constructor() {
    super('this transaction is over: a unit must await everything it starts')
  }
}

/** Where a unit has its times and ids from. */
export interface UnitChance {
  readonly clock: () => Date
  readonly steady: Pick<SteadyClock, 'begin' | 'steadyOf' | 'idBefore'>
  readonly ids: Ids
  /** Whether the disk has too little room for anything new. */
  readonly isShort?: (() => boolean) | undefined
}

export class Unit implements Tx {
  readonly db: Db
  readonly now: Date
  readonly nowIso: string
  readonly connection: UnitConnection
  readonly effects: (() => void)[] = []
  readonly #chance: UnitChance
  readonly steadyNow: Date

  constructor(statements: Statements, chance: UnitChance) {
    this.connection = new UnitConnection(statements)
    this.db = unitDb(this.connection)
    this.now = chance.clock()
    this.nowIso = this.now.toISOString()
    this.steadyNow = chance.steady.begin()
    this.#chance = chance
  }

  get steadyOf() {
    return this.#chance.steady.steadyOf
  }

  get idBefore() {
    return this.#chance.steady.idBefore
  }

  get steadyIso(): string {
    return this.steadyNow.toISOString()
  }

  endIn(seconds: number): string {
    return new Date(this.steadyNow.getTime() + seconds * 1000).toISOString()
  }

  id(): string {
    this.connection.requireOpen()
    return this.#chance.ids.next(this.now)
  }

  requireRoom(): void {
    if (this.#chance.isShort?.()) throw new ApiError('storage_full', { retryAfterMs: retryAfterMs.disk })
  }

  afterCommit(effect: () => void): void {
    this.connection.requireOpen()
    this.effects.push(effect)
  }
}
