/** The writer as the rest of the server sees it: what it is given, what it promises, and what it tells of its work. */
import type { GroupOptions } from './group.ts'
import type { Nonce } from './nonces.ts'
import type { Tx } from './tx.ts'
import type { WalSync } from './wal-sync.ts'

export interface WriteOptions {
  /** Spent with the unit, also when the unit is refused. A nonce used before refuses the unit unrun. */
  readonly nonce?: Nonce | undefined
}

/** The database is the writer's alone from now on; `close` closes it. */
export interface WriterOptions extends GroupOptions {
  /** Of the same database, and closed with it. */
  readonly walSync: WalSync
  /** Most requests that one commit holds. */
  readonly maxGroup?: number
  /** The store is in doubt: turn readiness false and end the process. Called once. */
  readonly onFatal: (error: unknown) => void
  /** Something was committed. Called before the effects of what was. */
  readonly onCommit?: () => void
  /** An effect threw after its commit. */
  readonly onEffectError: (error: unknown) => void
  /** A group found no space. Called before its requests are told. */
  readonly onFull?: (() => void) | undefined
  /** What each group was and took; for whoever measures. */
  readonly onGroup?: ((report: GroupReport) => void) | undefined
}

/** One transaction, whatever became of it. */
export interface GroupReport {
  readonly requests: number
  /** From BEGIN until everyone of the group was told. */
  readonly groupMs: number
  /** From COMMIT until it was on disk. Undefined when it did not come to that. */
  readonly commitMs: number | undefined
  readonly failure: 'full' | 'refused' | 'broken' | undefined
}

export interface WriterStats {
  readonly groups: number
  /** Requests whose commit is on disk, refused ones included. */
  readonly requests: number
  readonly largestGroup: number
  readonly failedGroups: number
}

export interface Writer {
  /**
   * Runs the unit inside a transaction and answers once it is on disk. The unit awaits nothing but `tx`.
   *
   * @throws whatever the unit throws, then nothing of it is stored; `request_replayed` and `rate_limited` for its
   *   nonce; `unavailable` and `storage_full` when its group failed; UnitOverrunError when it awaited something else.
   */
  write<T>(unit: (tx: Tx) => Promise<T>, options?: WriteOptions): Promise<T>
  /** What is committed by now is on disk when it resolves; undefined where it is already. @throws when the disk fails. */
  durable(): Promise<void> | undefined
  /** `full`: the last group found no space. `broken`: see `onFatal`. */
  state(): 'open' | 'full' | 'broken' | 'closed'
  stats(): WriterStats
  /** Requests that wait for their group. */
  queueLength(): number
  /**
   * Writes the file anew and empties the WAL, so that the disk no longer holds what was removed: moving rows leaves
   * copies of them in pages that are still in use, which `secure_delete` does not reach. Nobody writes meanwhile.
   *
   * False, with nothing done, where more than `maxBytes` are in use; false where another process reads at the moment,
   * which keeps the WAL: to be asked again.
   */
  scrub(maxBytes: number): Promise<boolean>
  /** Folds the WAL into the file, so that the disk has its room back. False: to be asked again. */
  fold(): Promise<boolean>
  /** Room inside the file that is used again before the file grows. */
  unusedBytes(): number
  /** Finishes what was accepted, refuses the rest, folds the WAL into the file and closes it. */
  close(): Promise<void>
}
