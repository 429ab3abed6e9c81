/**
 * The single writer of the database (group commit).
 *
 * - Requests that wait together share one transaction, BEGIN IMMEDIATE … COMMIT. The writer gathers requests
 *   over a few turns of the event loop. It stops when 3 turns bring no request, or after as long as the last
 *   group took, at most 5 ms. A turn accepts one connection. If the writer committed at each turn, a slow
 *   disk would slow down the accepting of new clients. A group has at most 128 requests, because its units
 *   run on microtasks and block all other work.
 * - For each request the writer first spends the nonce, outside any savepoint. Then it runs the unit inside a
 *   savepoint. If the unit throws, only this unit is rolled back, and its nonce stays spent.
 * - The writer settles a request, with success or refusal, once the commit of its nonce and effect is
 *   durable. Effects run before that, but also after the commit is durable.
 * - COMMIT writes the WAL. Its sync runs on another thread while the next group begins. The next group
 *   may read commits that a crash of the machine could still lose. Its own commit comes later in the WAL, so
 *   a crash would lose it, too. Readers on other connections wait for `durable`.
 * - If a group fails as a whole, all of its requests get 503 and nothing is stored. After a full disk the
 *   writer continues once there is space. After any other failed COMMIT, a failed sync or an I/O error, the
 *   content of the disk is unknown. The writer then refuses all writes and the process must stop.
 *
 * Contract §2 "Group commit".
 */
import type Database from 'better-sqlite3'
import { ApiError } from '../../api-error.ts'
import { retryAfterMs } from '../../retry-after.ts'
import type { Outcome, Request } from '../request.ts'
import type { Tx } from '../tx.ts'
import type { GroupReport, WriteOptions, Writer, WriterEvents } from '../writer.ts'
import { sqliteCode } from './connection.ts'
import { GroupFailedError, type GroupOptions, Groups } from './group.ts'
import { bytesInUse, rewriteFile } from './scrub.ts'
import { checkpoint, unusedBytes } from './space.ts'
import { UnsyncedGroups } from './unsynced.ts'
import type { WalSync } from './wal-sync.ts'

/** From now on only the writer uses `database`. `close` closes it. */
export interface WriterOptions extends GroupOptions, WriterEvents {
  /** Syncs the WAL of the same database. `close` closes it, too. */
  readonly walSync: WalSync
  /** Most requests in one commit, by default 128. */
  readonly maxGroup?: number
}

const defaultMaxGroup = 128
/** The group begins after this number of turns without a new request. */
const quietTurns = 3
/** If turns take this long in total, one turn without a new request is enough. */
const longTurnMs = 1
/** Longest time that the writer gathers requests. */
const gatherAtMostMs = 5

/** A group of at most this size may be synced on this thread; see `unsynced.ts`. */
const fewRequests = 2

interface Waiting extends Request {
  readonly resolve: (value: never) => void
  readonly reject: (error: unknown) => void
}

/** A group that was committed, and the outcomes of its requests. */
interface Run {
  readonly group: readonly Waiting[]
  readonly outcomes: readonly Outcome[]
  readonly beganMs: number
  readonly commitBeganMs: number
}

/** The writer of one file. It needs no lanes, because a file has one writer. */
export interface FileWriter extends Omit<Writer, 'write'> {
  /** As `write` of {@link Writer}. */
  write<T>(unit: (tx: Tx) => Promise<T>, options?: WriteOptions): Promise<T>
}

export function createWriter(options: WriterOptions): FileWriter {
  const queue = new WriteQueue(options)
  return {
    write: (unit, options = {}) => queue.write(unit, options),
    durable: () => queue.durable(),
    state: () => queue.state,
    stats: () => ({ ...queue.stats }),
    queueLength: () => queue.length,
    scrub: (maxBytes) => queue.scrub(maxBytes),
    checkpoint: () => queue.checkpoint(),
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
      onDurable: (run) => this.#settle(run),
      onFailed: (runs, error) =>
        this.#markBroken(
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
    return this.#betweenGroups((database) => bytesInUse(database) <= maxBytes && rewriteFile(database))
  }

  checkpoint(): Promise<boolean> {
    return this.#betweenGroups(checkpoint)
  }

  /**
   * Runs `act` in a separate turn of the event loop. Units and reads run on microtasks, so none is running
   * then.
   */
  async #betweenGroups(act: (database: Database.Database) => boolean): Promise<boolean> {
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
    // After an I/O error the writer leaves the file as it is. The next start recovers from the content of the
    // disk.
    if (this.#state === 'broken') return
    try {
      steady.noteLast()
      database.pragma('wal_checkpoint(TRUNCATE)')
    } catch (error) {
      // The WAL keeps the commits. A later checkpoint copies them once there is space.
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
      // If the event loop is busy with other work, turns are long. Then one turn without a new request is
      // enough.
      const isQuiet = quiet === quietTurns || (quiet > 0 && elapsedMs > longTurnMs)
      if (!isQuiet && seen < this.#maxGroup && elapsedMs < longestMs) setImmediate(turn)
      // On a microtask, because `withinTurn` needs one.
      else queueMicrotask(() => void this.#runNext())
    }
    setImmediate(turn)
  }

  get #maxGroup(): number {
    return this.#options.maxGroup ?? defaultMaxGroup
  }

  async #runNext(): Promise<void> {
    const group = this.#waiting.splice(0, this.#maxGroup)
    // The queue is empty if the sync of an earlier group failed, which rejected these requests, too.
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

  /** Settles the requests of a durable group. */
  #settle({ group, outcomes, beganMs, commitBeganMs }: Run): void {
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

  /** Rejects the requests of a group that was not committed. */
  #failAll(group: readonly Waiting[], beganMs: number, error: unknown): void {
    const failure = error instanceof GroupFailedError ? error : new GroupFailedError(error, true)
    this.#lastGroupMs = this.#options.monotonicMs() - beganMs
    if (failure.fatal) {
      this.#markBroken([group], failure)
      return
    }
    this.stats.failedGroups += 1
    if (failure.full) this.#options.onFull?.()
    for (const { reject } of group) reject(faultOf(failure))
    if (failure.full) this.#state = 'full'
    this.#report(group, undefined, failure.full ? 'full' : 'refused')
  }

  /**
   * Rejects these groups and all waiting requests, and stops the writer, because the content of the disk is
   * unknown.
   */
  #markBroken(groups: readonly (readonly Waiting[])[], failure: GroupFailedError): void {
    this.stats.failedGroups += groups.length
    for (const { reject } of [...groups.flat(), ...this.#waiting.splice(0)]) reject(faultOf(failure))
    for (const group of groups) this.#report(group, undefined, 'broken')
    const isFirst = this.#state !== 'broken'
    this.#state = 'broken'
    if (isFirst) this.#options.onFatal(failure.cause)
    if (this.#isIdle) this.#whenIdle()
  }
}

/** Returns the error for the caller. The node logs its cause and sends only the code to the client. */
function faultOf({ full, cause }: GroupFailedError): ApiError {
  return full
    ? new ApiError('storage_full', { retryAfterMs: retryAfterMs.disk, cause })
    : new ApiError('unavailable', { retryAfterMs: retryAfterMs.restart, cause })
}
