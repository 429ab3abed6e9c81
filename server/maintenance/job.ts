/**
 * One kind of maintenance work, done in batches that are too small to delay requests.
 *
 * A noun exports its job, and `server/maintenance-jobs.ts` lists it.
 */
import type { Context } from '../context.ts'
import type { Tx } from '../database/tx.ts'

/** The part of the server's context that a command on the host has too. Jobs may use nothing else. */
export type MaintenanceContext = Pick<
  Context,
  'write' | 'clock' | 'monotonicMs' | 'random' | 'stopping' | 'wakeups'
>

/** Limits of one batch. It ends at whichever is reached first. */
export interface BatchBudget {
  readonly rows: number
  readonly bytes: number
  /**
   * Whether the batch has used up its time. A batch of several steps checks it between two steps, never before
   * the first, so that each batch makes progress.
   */
  isSpent(): boolean
}

export interface Batch {
  /** Number of rows that were deleted or changed. */
  readonly done: number
  /** Whether more may remain; the job is then called again. */
  readonly more: boolean
}

/** Runs inside one write transaction, so a killed process has done the batch completely or not at all. */
export type RunBatch = (tx: Tx, room: BatchBudget) => Promise<Batch>

export interface Job {
  /** Name for log and metrics, such as `messages removed`. */
  readonly name: string
  /**
   * Called once per run. State that the returned function keeps between batches is discarded after the run.
   */
  begin(context: MaintenanceContext): RunBatch
}
