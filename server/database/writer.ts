/** Interface of the writer: its methods, its events and its reports. */
import type { Lane, Lanes } from './lanes.ts'
import type { Nonce } from './nonces.ts'
import type { Touches } from './touches.ts'
import type { Tx } from './tx.ts'

export interface WriteOptions {
  /**
   * Nonce to spend in the same transaction, even if the unit throws. If the nonce was used before, the unit
   * does not run.
   */
  readonly nonce?: Nonce | undefined
  /** Undefined: the unit may read and change anything, so it runs alone. */
  readonly touches?: Touches | undefined
}

/** Listeners of what the writer does. */
export interface WriterEvents {
  /**
   * Called once if the content of the disk is unknown. The node must then report "not ready" and end the
   * process.
   */
  readonly onFatal: (error: unknown) => void
  /**
   * Called once a commit is durable, before its effects run. PostgreSQL names the lanes of its requests, or
   * none if a request has none.
   */
  readonly onCommit?: (lanes?: readonly Lane[]) => void
  /** Called if an effect throws. */
  readonly onEffectError: (error: unknown) => void
  /** Called if a group finds no space on the disk, before its requests are rejected. */
  readonly onFull?: (() => void) | undefined
  /** Called after each group with its size and durations, for metrics. */
  readonly onGroup?: ((report: GroupReport) => void) | undefined
}

/** Report on one group, committed or failed. */
export interface GroupReport {
  readonly requests: number
  /** Time from BEGIN until all requests of the group were settled. */
  readonly groupMs: number
  /** Time from COMMIT until the group was durable. Undefined if the group failed. */
  readonly commitMs: number | undefined
  readonly failure: 'full' | 'refused' | 'broken' | undefined
}

export interface WriterStats {
  readonly groups: number
  /** Requests whose commit is durable, including refused ones. */
  readonly requests: number
  readonly largestGroup: number
  readonly failedGroups: number
}

export interface Writer {
  /**
   * Runs the unit inside a transaction that has the lanes for itself. Resolves once the commit is durable. The
   * unit may only await `tx`. It may run more than once if its transaction was rolled back.
   *
   * @throws the error of the unit, of which nothing is then stored
   * @throws ApiError `request_replayed` or `rate_limited` because of the nonce, or `unavailable` or
   *   `storage_full` if the group failed
   * @throws UnitOverrunError if the unit awaited something other than `tx`
   */
  write<T>(lanes: Lanes, unit: (tx: Tx) => Promise<T>, options?: WriteOptions): Promise<T>
  /**
   * Resolves once all commits so far are durable. Undefined if they are already. @throws the error of a
   * failed sync
   */
  durable(): Promise<void> | undefined
  /** Returns `full` if the last group found no space, and `broken` after `onFatal` was called. */
  state(): 'open' | 'full' | 'broken' | 'closed'
  stats(): WriterStats
  /** Returns the number of requests that wait for a group. */
  queueLength(): number
  /**
   * Rewrites the file and truncates the WAL, so that the disk holds no copy of removed rows; see `scrub.ts`.
   * Writes wait meanwhile.
   *
   * Returns false and changes nothing if more than `maxBytes` are in use. Also returns false if another
   * process reads or writes, or the disk has no space for the copy. The caller must then try again.
   */
  scrub(maxBytes: number): Promise<boolean>
  /**
   * Checkpoints and truncates the WAL, which frees disk space. Returns false if the caller must try again.
   */
  checkpoint(): Promise<boolean>
  /** Returns the size of the free pages, which SQLite uses again before the file grows. */
  unusedBytes(): number
  /** Finishes the accepted requests, refuses later ones, checkpoints the WAL and closes the database. */
  close(): Promise<void>
}
