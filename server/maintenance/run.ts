/**
 * Runs jobs one after another, in batches, without delaying requests.
 *
 * - A batch is one unit of the write queue: at most 500 rows, 1 MiB and 20 ms. The number of rows adapts to
 *   the measured time, so a slow disk or large rows make the batches smaller.
 * - After each batch the writer is left to requests for twice the time that the batch took.
 * - A job that fails is reported. The other jobs still run.
 */

import { setTimeout as pause } from 'node:timers/promises'
import { everyLane } from '../database/lanes.ts'
import type { Batch, BatchBudget, Job, MaintenanceContext, RunBatch } from './job.ts'

export const batchLimits = { rows: 500, firstRows: 50, leastRows: 5, bytes: 1024 * 1024, ms: 20 } as const

/** If a batch takes longer than this, the next one is smaller. */
const aimMs = batchLimits.ms / 2

export interface JobReport {
  readonly name: string
  readonly done: number
  /** The longest time in which one batch blocked the writer. */
  readonly longest_batch_ms: number
  /** Why the job ended early; null if it finished. */
  readonly failure: string | null
}

export async function runJobs(
  context: MaintenanceContext,
  jobs: readonly Job[],
  onFailure: (name: string, error: unknown) => void,
): Promise<JobReport[]> {
  const reports: JobReport[] = []
  for (const job of jobs) {
    if (context.stopping.aborted) break
    reports.push(await runJob(context, job, onFailure))
  }
  return reports
}

async function runJob(
  context: MaintenanceContext,
  job: Job,
  onFailure: (name: string, error: unknown) => void,
): Promise<JobReport> {
  const batch = job.begin(context)
  let rows: number = batchLimits.firstRows
  let done = 0
  let longest = 0
  const report = (failure: string | null): JobReport => ({
    name: job.name,
    done,
    longest_batch_ms: Math.round(longest * 10) / 10,
    failure,
  })
  try {
    for (;;) {
      const outcome = await timed(context, batch, rows)
      done += outcome.done
      longest = Math.max(longest, outcome.ms)
      rows = nextRows(rows, outcome.ms)
      if (!outcome.more || context.stopping.aborted) return report(null)
      await pause(2 * outcome.ms, undefined, { signal: context.stopping }).catch(() => {})
    }
  } catch (error) {
    if (!context.stopping.aborted) onFailure(job.name, error)
    return report(error instanceof Error ? error.message : String(error))
  }
}

const nextRows = (rows: number, ms: number): number =>
  ms > aimMs
    ? Math.max(batchLimits.leastRows, Math.floor(rows / 2))
    : Math.min(batchLimits.rows, ms < aimMs / 2 ? rows * 2 : rows)

/** Runs one batch and measures how long it blocked the writer. */
async function timed(
  { write, monotonicMs }: MaintenanceContext,
  batch: RunBatch,
  rows: number,
): Promise<Batch & { ms: number }> {
  let ms = 0
  const outcome = await write(everyLane, async (tx) => {
    const started = monotonicMs()
    const room: BatchBudget = {
      rows,
      bytes: batchLimits.bytes,
      isSpent: () => monotonicMs() - started >= aimMs,
    }
    try {
      return await batch(tx, room)
    } finally {
      ms = monotonicMs() - started
    }
  })
  return { ...outcome, ms }
}
