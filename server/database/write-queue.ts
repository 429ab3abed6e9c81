/**
 * The one writer: the only way to change anything.
 *
 * - Requests that wait together share one BEGIN IMMEDIATE … COMMIT. Those of a few turns of the event loop are gathered,
 *   as long as each turn brings more and no longer than the last group took: a turn accepts one connection, so that
 *   on a slow disk a commit at every turn would let in no more new clients than it makes commits. A group is capped,
 *   since its units run on microtasks alone and nothing else runs meanwhile.
 * - Per request: first the nonce, outside any savepoint; then a savepoint around the unit. A unit that throws is rolled
 *   back to it and hurts no neighbour; its nonce stays spent.
 * - Nobody hears anything, success or refusal, before the COMMIT that holds its nonce and effect is on disk. Effects run
 *   after it. COMMIT writes the log, the sync follows on another thread, and the next group begins meanwhile: what a
 *   unit reads there may be lost with the machine, and then so is the unit, whose own commit lies behind it in the log.
 *   Whoever reads elsewhere waits for `durable`.
 * - What leaves the group in doubt fails all of it with 503 and stores nothing. A full disk is such a case and passes
 *   when there is space again; a COMMIT that fails otherwise, a sync that fails, or an I/O error, is the end: no write
 *   is taken any more and the process must stop, since what the disk holds is unknown.
 *
 * Contract §2 "Group commit".
 */
import type Database from 'better-sqlite3'
import { ApiError } from '../api-error.ts'
import { retryAfterMs } from '../retry-after.ts'
import { sqliteCode } from './connection.ts'
import { GroupFailedError, Groups, type Outcome, type Request } from './group.ts'
import { bytesInUse, rewriteFile } from './scrub.ts'
import { checkpoint, unusedBytes } from './space.ts'
import type { Tx } from './tx.ts'
import { UnsyncedGroups } from './unsynced.ts'
import type { GroupReport, WriteOptions, Writer, WriterOptions } from './writer.ts'

const defaultMaxGroup = 128
/** After so many turns that brought nothing the group begins. */
const quietTurns = 3
const longTurnMs = 1
/** However slow the disk is, nobody waits longer for a group to begin. */
const gatherAtMostMs = 5

/** So few requests are not worth another thread's time. */
const fewRequests = 2

interface Waiting extends Request {
  readonly resolve: (value: never) => void
  readonly reject: (error: unknown) => void
}

/** A group that was run, and what its requests are told. */
interface Run {
  readonly group: readonly Waiting[]
  readonly outcomes: readonly Outcome[]
  readonly beganMs: number
  readonly commitBeganMs: number
}

export function createWriter(options: WriterOptions): Writer {
  const queue = new WriteQueue(options)
  return {
    write: (unit, options = {}) => queue.write(unit, options),
    durable: () => queue.durable(),
    state: () => queue.state,
    stats: () => ({ ...queue.stats }),
    queueLength: () => queue.length,
    scrub: (maxBytes) => queue.scrub(maxBytes),
    fold: () => queue.fold(),
    unusedBytes: () => unusedBytes(options.database),
    close: () => queue.close(),
  }
}

class WriteQueue {
  readonly stats = { groups: 0, requests: 0, largestGroup: 0, failedGroups: 0 }
  readonly #options: WriterOptions
  readonly #groups: Groups
  readonly #committed: UnsyncedGroups<Run>
  readonly #waiting: Waiting[] = []
  #state: 'open' | 'full' | 'broken' = 'open'
  #closed: Promise<void> | undefined
  #scheduled = false
  #lastGroupMs = 0
  #whenIdle = () => {}

  constructor(options: WriterOptions) {
    const { walSync, monotonicMs } = options
    this.#options = options
    this.#groups = new Groups(options)
    this.#committed = new UnsyncedGroups({
      walSync,
      monotonicMs,
      tell: (run) => this.#answer(run),
      fail: (runs, error) =>
        this.#breakOff(
          runs.map(({ group }) => group),
          new GroupFailedError(error, true),
        ),
    })
  }

  get state(): ReturnType<Writer['state']> {
    return this.#closed !== undefined && this.#state !== 'broken' ? 'closed' : this.#state
  }

  get length(): number {
    return this.#waiting.length
  }

  durable(): Promise<void> | undefined {
    return this.#committed.durable()
  }

  write<T>(unit: (tx: Tx) => Promise<T>, { nonce }: WriteOptions): Promise<T> {
    if (this.#closed !== undefined || this.#state === 'broken')
      return Promise.reject(new ApiError('unavailable', { retryAfterMs: retryAfterMs.restart }))
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ unit, nonce, resolve, reject })
      this.#schedule()
    })
  }

  scrub(maxBytes: number): Promise<boolean> {
    return this.#alone((database) => bytesInUse(database) <= maxBytes && rewriteFile(database))
  }

  fold(): Promise<boolean> {
    return this.#alone(checkpoint)
  }

  /** In a turn of its own: units of work and reads run on microtasks, so none is under way then. */
  async #alone(act: (database: Database.Database) => boolean): Promise<boolean> {
    await this.write(async () => {}, {})
    return new Promise((resolve, reject) => {
      setImmediate(() => {
        try {
          const isOpen = this.#closed === undefined && this.#state !== 'broken'
          resolve(isOpen && act(this.#options.database))
        } catch (error) {
          reject(error)
        }
      })
    })
  }

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    const { database, walSync, steady } = this.#options
    if (!this.#isIdle) {
      await new Promise<void>((resolve) => {
        this.#whenIdle = resolve
      })
    }
    walSync.close()
    // After an I/O error the file is left as it is: the next start recovers it from what the disk really holds.
    if (this.#state === 'broken') return
    try {
      steady.noteLast()
      database.pragma('wal_checkpoint(TRUNCATE)')
    } catch (error) {
      // The log is then as good as the file, and is folded in when there is room.
      if (sqliteCode(error) !== 'SQLITE_FULL') throw error
    } finally {
      database.close()
    }
  }

  get #isIdle(): boolean {
    return !this.#scheduled && this.#committed.isIdle
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    this.#gather()
  }

  #gather(): void {
    const beganMs = this.#options.monotonicMs()
    const longestMs = Math.min(this.#lastGroupMs, gatherAtMostMs)
    let seen = 0
    let quiet = 0
    const turn = () => {
      quiet = this.#waiting.length > seen ? 0 : quiet + 1
      seen = this.#waiting.length
      const elapsedMs = this.#options.monotonicMs() - beganMs
      // A turn may be long, where the loop is busy with what is no write: then one that brought nothing is enough.
      const isQuiet = quiet === quietTurns || (quiet > 0 && elapsedMs > longTurnMs)
      if (!isQuiet && seen < this.#maxGroup && elapsedMs < longestMs) setImmediate(turn)
      // From a microtask, since `withinTurn` needs one.
      else queueMicrotask(() => void this.#runNext())
    }
    setImmediate(turn)
  }

  get #maxGroup(): number {
    return this.#options.maxGroup ?? defaultMaxGroup
  }

  async #runNext(): Promise<void> {
    const group = this.#waiting.splice(0, this.#maxGroup)
    // An earlier group may have failed on the disk, and these with it.
    if (group.length > 0) await this.#run(group)
    this.#scheduled = false
    if (this.#waiting.length > 0) this.#schedule()
    else if (this.#isIdle) this.#whenIdle()
  }

  async #run(group: readonly Waiting[]): Promise<void> {
    const beganMs = this.#options.monotonicMs()
    try {
      const outcomes = await this.#groups.run(group)
      this.#state = 'open'
      const isAlone = group.length <= fewRequests && this.#waiting.length === 0
      this.#committed.add({ group, outcomes, beganMs, commitBeganMs: this.#groups.commitBeganMs }, isAlone)
    } catch (error) {
      this.#failAll(group, beganMs, error)
    }
  }

  /** The group is on disk. */
  #answer({ group, outcomes, beganMs, commitBeganMs }: Run): void {
    const commitMs = this.#options.monotonicMs() - commitBeganMs
    this.stats.groups += 1
    this.stats.requests += group.length
    this.stats.largestGroup = Math.max(this.stats.largestGroup, group.length)
    this.#runEffects([() => this.#options.onCommit?.()])
    for (const [index, outcome] of outcomes.entries()) {
      if (outcome.ok) this.#runEffects(outcome.effects)
      if (outcome.ok) group[index]?.resolve(outcome.value as never)
      else group[index]?.reject(outcome.error)
    }
    this.#lastGroupMs = this.#options.monotonicMs() - beganMs
    this.#report(group, commitMs, undefined)
    if (this.#isIdle) this.#whenIdle()
  }

  #report(
    { length }: readonly Waiting[],
    commitMs: number | undefined,
    failure: GroupReport['failure'],
  ): void {
    this.#options.onGroup?.({ requests: length, groupMs: this.#lastGroupMs, commitMs, failure })
  }

  #runEffects(effects: readonly (() => void)[]): void {
    for (const effect of effects) {
      try {
        effect()
      } catch (error) {
        this.#options.onEffectError(error)
      }
    }
  }

  /** The group is in none of the log. */
  #failAll(group: readonly Waiting[], beganMs: number, error: unknown): void {
    const failure = error instanceof GroupFailedError ? error : new GroupFailedError(error, true)
    this.#lastGroupMs = this.#options.monotonicMs() - beganMs
    if (failure.fatal) {
      this.#breakOff([group], failure)
      return
    }
    this.stats.failedGroups += 1
    if (failure.full) this.#options.onFull?.()
    for (const { reject } of group) reject(faultOf(failure))
    if (failure.full) this.#state = 'full'
    this.#report(group, undefined, failure.full ? 'full' : 'refused')
  }

  /** What the disk holds of these, and of whatever would come, is unknown. */
  #breakOff(groups: readonly (readonly Waiting[])[], failure: GroupFailedError): void {
    this.stats.failedGroups += groups.length
    for (const { reject } of [...groups.flat(), ...this.#waiting.splice(0)]) reject(faultOf(failure))
    for (const group of groups) this.#report(group, undefined, 'broken')
    const isFirst = this.#state !== 'broken'
    this.#state = 'broken'
    if (isFirst) this.#options.onFatal(failure.cause)
    if (this.#isIdle) this.#whenIdle()
  }
}

/** The cause is for the log; the translator tells the caller the code alone. */
function faultOf({ full, cause }: GroupFailedError): ApiError {
  return full
    ? new ApiError('storage_full', { retryAfterMs: retryAfterMs.disk, cause })
    : new ApiError('unavailable', { retryAfterMs: retryAfterMs.restart, cause })
}
