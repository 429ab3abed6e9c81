/** Interface of the reader. */
import type { Db } from './tables.ts'

export interface Reader {
  /**
   * Runs the unit on a snapshot.
   *
   * @throws the error of the unit, UnitOverrunError if the unit awaited something other than `db`, or
   *   `unavailable` after `close`
   */
  read<T>(unit: (db: Db) => Promise<T>): Promise<T>
  /** Calls `act` once the reads that are running now have ended, in a later turn of the event loop. */
  afterReads(act: () => void): void
  /** Returns the number of reads that have not started. */
  queueLength(): number
  /** Finishes the queued reads and refuses later ones. */
  close(): Promise<void>
}
