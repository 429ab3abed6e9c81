/**
 * Runs the units of a group in its transaction, side by side where they touch nothing in common, or each
 * alone. A careful run gives each a savepoint.
 */
import { Counts } from '../counts.ts'
import type { Outcome, Request } from '../request.ts'
import { Unit, type UnitChance, UnitEndedError } from '../tx.ts'
import { UnitOverrunError } from '../unit-overrun.ts'
import { isStatementError, isTrouble, type PostgresConnection } from './connection.ts'
import { MergedStatements } from './merged.ts'
import { NonceCounts } from './nonce-counts.ts'
import { spendNonces } from './nonces.ts'
import type { Timeline } from './timeline.ts'
import { type Posted, PostgresView } from './unit-view.ts'
import { type Asked, Wave, wavesOf } from './wave.ts'

/** A unit failed in a way that needs its own savepoint. */
export class NeedsSavepointsError extends Error {}

export interface UnitsChance extends UnitChance {
  /** Whether units that touch nothing in common run side by side. Otherwise each runs alone. */
  readonly runsSideBySide: boolean
  /** Whether equal statements of a group are merged. */
  readonly merges: boolean
  readonly monotonicMs: () => number
  /** Has the replay floor of the database. */
  readonly timeline: Pick<Timeline, 'floor'>
}

export class Units {
  readonly #chance: UnitsChance
  readonly #merged = new MergedStatements()
  readonly #nonces: NonceCounts
  #changes = 0

  constructor(chance: UnitsChance) {
    this.#chance = chance
    this.#nonces = new NonceCounts(chance.monotonicMs)
  }

  /** Number of units that changed rows. */
  get changes(): number {
    return this.#changes
  }

  /** Learns what it needs to merge the statements that it met. Called between transactions. */
  learn(connection: PostgresConnection): Promise<void> {
    return this.#merged.learn(connection)
  }

  /**
   * Spends the nonces of the requests and runs their units. @throws NeedsSavepointsError; errors of the
   * database
   */
  async run(
    connection: PostgresConnection,
    requests: readonly Request[],
    /** Undefined: each unit gets a savepoint. */
    posted: Posted | undefined,
  ): Promise<Outcome[]> {
    const { timeline, clock } = this.#chance
    const spending = { counts: this.#nonces, floor: timeline.floor, clock }
    const refusals = await spendNonces(connection, requests, spending)
    const outcomes: Outcome[] = refusals.map((error) => ({ ok: false, error }))
    const admitted = [...requests.keys()].filter((index) => refusals[index] === undefined)
    const run = async (index: number, asked: Asked, counts: Counts) => {
      const request = requests[index] as Request
      outcomes[index] =
        posted === undefined
          ? await this.#runInSavepoint(connection, request)
          : await this.#runPlain(asked, request, { posted, counts })
    }
    const waves =
      posted !== undefined && this.#chance.runsSideBySide
        ? wavesOf(admitted, (index) => requests[index]?.touches)
        : admitted.map((index) => [index])
    for (const indexes of waves) await this.#runWave(connection, indexes, run)
    return outcomes
  }

  /** Runs units side by side. If one fails, the others have ended when this rejects. */
  async #runWave(
    connection: PostgresConnection,
    indexes: readonly number[],
    run: (index: number, asked: Asked, counts: Counts) => Promise<void>,
  ): Promise<void> {
    const counts = new Counts()
    const wave = new Wave(connection, this.#chance.merges ? this.#merged : undefined)
    const results = await Promise.allSettled(indexes.map((index) => run(index, wave.member(), counts)))
    wave.flush()
    const errors = results.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []))
    // The unit whose statement was refused says more than the others, whose statements PostgreSQL then
    // refused too.
    const first = errors.find((error) => !(error instanceof NeedsSavepointsError)) ?? errors[0]
    if (first !== undefined) throw first
  }

  async #runPlain(
    asked: Asked,
    request: Request,
    { posted, counts }: { readonly posted: Posted; readonly counts: Counts },
  ): Promise<Outcome> {
    const view = new PostgresView(asked, posted)
    const outcome = await settled(view, new Unit(view, this.#chance, counts), request)
    if (view.wrote) this.#changes += 1
    if (view.lost !== undefined) {
      // After the refusal of a posted insert, the next statement is refused because the transaction is
      // aborted.
      const cause = posted.failure ?? view.lost
      throw isStatementError(cause) ? new NeedsSavepointsError('', { cause }) : cause
    }
    if (!outcome.ok && view.wrote) throw new NeedsSavepointsError('', { cause: outcome.error })
    return outcome
  }

  async #runInSavepoint(connection: PostgresConnection, request: Request): Promise<Outcome> {
    await connection.query({ text: 'SAVEPOINT unit' })
    const view = new PostgresView(connection)
    const found = await settled(view, new Unit(view, this.#chance), request)
    if (view.wrote) this.#changes += 1
    if (view.lost !== undefined && isTrouble(view.lost)) throw view.lost
    const outcome: Outcome = view.lost === undefined ? found : { ok: false, error: view.lost }
    if (!outcome.ok) await connection.query({ text: 'ROLLBACK TO unit' })
    await connection.query({ text: 'RELEASE unit' })
    return outcome
  }
}

/** Runs the unit until it settles or overruns, then closes its view of the connection. */
async function settled(view: PostgresView, tx: Unit, { unit }: Request): Promise<Outcome> {
  try {
    const value = await view.within(unit(tx))
    view.end(() => new UnitEndedError())
    return { ok: true, value, effects: tx.effects }
  } catch (error) {
    view.end(() => (error instanceof UnitOverrunError ? new UnitOverrunError() : new UnitEndedError()))
    return { ok: false, error }
  }
}
