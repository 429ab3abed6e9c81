/** One run of maintenance: the clock is judged first, then every job does what there is to do. */

import { judgeClock, type Look } from './clock.ts'
import type { Job, MaintenanceContext } from './job.ts'
import { type JobReport, runJobs } from './run.ts'

export interface CycleReport {
  /** By how much the clock has jumped, when nothing was done because of it. */
  readonly skipped_for_jump_seconds: number | null
  readonly jobs: readonly JobReport[]
}

export interface Maintenance {
  /** A second call while one runs is answered with the report of the one that runs. */
  cycle(): Promise<CycleReport>
}

export function createMaintenance(
  context: MaintenanceContext,
  jobs: readonly Job[],
  onFailure: (name: string, error: unknown) => void,
): Maintenance {
  let earlier: Look | undefined
  let running: Promise<CycleReport> | undefined

  const run = async (): Promise<CycleReport> => {
    const monotonicMs = context.monotonicMs()
    const { isBelievable, driftMs, look } = await context.write((tx) => judgeClock(tx, monotonicMs, earlier))
    earlier = look
    if (!isBelievable) return { skipped_for_jump_seconds: Math.round(driftMs / 1000), jobs: [] }
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
