/**
 * One piece of work that the clock does, in batches that are small enough for requests not to notice.
 *
 * A noun exports its job, and `jobs.ts` lists it.
 */
import type { Context } from '../context.ts'
import type { Tx } from '../database/tx.ts'

/** What a job may reach: of the server's context what a command on the host has too. */
export type MaintenanceContext = Pick<
  Context,
  'write' | 'clock' | 'monotonicMs' | 'random' | 'stopping' | 'wakeups'
>

/** How much one batch may do: whichever comes first. */
export interface BatchBudget {
  readonly rows: number
  readonly bytes: number
  /** Whether its time is over; for a batch of several steps to ask between two. */
  isSpent(): boolean
}

export interface Batch {
  /** Rows that were removed or changed. */
  readonly done: number
  /** Whether there may be more to do: then the job is called again. */
  readonly more: boolean
}

/** Runs inside the one writer's transaction, and may be killed before or after it, never in between. */
export type RunBatch = (tx: Tx, room: BatchBudget) => Promise<Batch>

export interface Job {
  /** What it does, in two words: `messages removed`. */
  readonly name: string
  /** Called once for each run; what it remembers between batches is gone with it. */
  begin(context: MaintenanceContext): RunBatch
}
