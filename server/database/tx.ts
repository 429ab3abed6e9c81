/** One unit of work inside the writer's transaction. Its `Tx` can be used only while the unit runs. */
import { ApiError } from '../api-error.ts'
import { retryAfterMs } from '../retry-after.ts'
import type { UnitView } from './connection.ts'
import { Counts } from './counts.ts'
import { unitDb } from './dialect.ts'
import type { Ids } from './ids.ts'
import type { SteadyClock, WrittenSteadyClock } from './steady-clock.ts'
import type { Db } from './tables.ts'

/**
 * Access to the writer's transaction. A function that takes a `Tx` writes. One that takes only a `Db` also
 * works in a reader.
 */
export interface Tx {
  readonly db: Db
  readonly counts: Counts
  /** Wall time, the same during the whole unit. */
  readonly now: Date
  /** `now` in the format of the API and of the columns. */
  readonly nowIso: string
  /** Steady time, which decides whether a lifetime has expired; see `steady-clock.ts`. */
  readonly steadyNow: Date
  readonly steadyIso: string
  /** Returns the steady time at which a row was stored, from its id and its wall time. */
  readonly steadyOf: SteadyClock['steadyOf']
  /** Returns an id that is smaller than those of all rows stored later than an instant of steady time. */
  readonly idBefore: SteadyClock['idBefore']
  /** Returns the end of a lifetime that begins now, in steady time. */
  endIn(seconds: number): string
  /** Returns a new id, greater than all ids in the database. */
  id(): string
  /**
   * Must be called before a unit stores new data. A unit that only frees space does not call it. @throws
   * storage_full
   */
  requireFreeSpace(): void
  /** Calls `effect` once the commit of this unit is durable. If the unit is rolled back, it is not called. */
  afterCommit(effect: () => void): void
}

/** A transaction was used after its unit had ended, because the unit did not await a promise. */
export class UnitEndedError extends Error {
  override readonly name = 'UnitEndedError'
  constructor() {
    super('this transaction has ended: a unit must await everything that it starts')
  }
}

/** Sources of the times and ids of a unit. */
export interface UnitChance {
  readonly clock: () => Date
  readonly steady: Pick<WrittenSteadyClock, 'begin' | 'steadyOf' | 'idBefore'>
  readonly ids: Ids
  /** Returns whether the disk has too little free space to store new data. */
  readonly isStorageFull?: (() => boolean) | undefined
}

export class Unit implements Tx {
  readonly db: Db
  readonly now: Date
  readonly nowIso: string
  readonly connection: UnitView
  readonly counts: Counts
  readonly effects: (() => void)[] = []
  readonly #chance: UnitChance
  readonly steadyNow: Date
  #steadyIso: string | undefined

  constructor(connection: UnitView, chance: UnitChance, counts = new Counts()) {
    this.connection = connection
    this.counts = counts
    this.db = unitDb(connection)
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
    this.#steadyIso ??= this.steadyNow.toISOString()
    return this.#steadyIso
  }

  endIn(seconds: number): string {
    return new Date(this.steadyNow.getTime() + seconds * 1000).toISOString()
  }

  id(): string {
    this.connection.requireOpen()
    return this.#chance.ids.next(this.now)
  }

  requireFreeSpace(): void {
    if (this.#chance.isStorageFull?.())
      throw new ApiError('storage_full', { retryAfterMs: retryAfterMs.disk })
  }

  afterCommit(effect: () => void): void {
    this.connection.requireOpen()
    this.effects.push(effect)
  }
}
