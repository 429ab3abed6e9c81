/** One run of maintenance: the clock is checked first, then every job runs. */

import { nodeLane } from '../database/lanes.ts'
import { type ClockReading, judgeClock } from './clock.ts'
import type { Job, MaintenanceContext } from './job.ts'
import { type JobReport, runJobs } from './run.ts'

export interface CycleReport {
  /** Seconds by which the clock has jumped, if the run was skipped for that; otherwise null. */
  readonly skipped_for_jump_seconds: number | null
  readonly jobs: readonly JobReport[]
}

export interface Maintenance {
  /** Runs all jobs. A call during a run returns the report of that run. */
  cycle(): Promise<CycleReport>
}

export function createMaintenance(
  context: MaintenanceContext,
  jobs: readonly Job[],
  onFailure: (name: string, error: unknown) => void,
): Maintenance {
  let earlier: ClockReading | undefined
  let running: Promise<CycleReport> | undefined

  const run = async (): Promise<CycleReport> => {
    const monotonicMs = context.monotonicMs()
    const { isPlausible, driftMs, reading } = await context.write(nodeLane, (tx) =>
      judgeClock(tx, monotonicMs, earlier),
    )
    earlier = reading
    if (!isPlausible) return { skipped_for_jump_seconds: Math.round(driftMs / 1000), jobs: [] }
    return { skipped_for_jump_seconds: null, jobs: await runJobs(context, jobs, onFailure) }
  }

  return {
    cycle() {
      running ??= run().finally(() => {
        running = undefined
      })
      return running
    },
  }
}
