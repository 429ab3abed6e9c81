/**
 * Scheduled maintenance of the server: one minute after the start, then every hour. Of several nodes, the one
 * that leads runs it.
 */
import type { Context } from '../context.ts'
import { createMaintenance } from './cycle.ts'
import type { Job } from './job.ts'

const firstAfterMs = 60_000
const everyMs = 3_600_000

/** Runs until the returned function is called. */
export function startMaintenance(context: Context, jobs: readonly Job[]): () => void {
  const { log } = context
  const maintenance = createMaintenance(context, jobs, (name, error) =>
    log.error({ err: error, job: name }, 'a maintenance job failed'),
  )
  /** Returns the number of rows that were deleted or changed. */
  const run = async () => {
    try {
      const { skipped_for_jump_seconds: jump, jobs } = await maintenance.cycle()
      if (jump !== null)
        log.warn({ jump_seconds: jump }, 'the clock has jumped; this maintenance run was skipped')
      const failed = jobs.some((job) => job.failure !== null)
      const outcome = jump !== null ? 'skipped' : failed ? 'failed' : 'done'
      context.meters?.maintained({ outcome, at: context.clock(), jobs })
      const done = jobs.filter((job) => job.done > 0)
      if (done.length > 0) log.info({ jobs: done }, 'maintenance')
      return done.reduce((sum, job) => sum + job.done, 0)
    } catch (error) {
      context.meters?.maintained({ outcome: 'failed', at: context.clock(), jobs: [] })
      if (!context.stopping.aborted) log.error({ err: error }, 'maintenance failed to run')
      return 0
    }
  }
  /** A failed checkpoint loses nothing: the WAL stays valid and is checkpointed later. */
  const checkpoint = async () => {
    try {
      await context.checkpointStore()
    } catch (error) {
      if (!context.stopping.aborted) log.warn({ err: error }, 'failed to checkpoint the database')
    }
  }
  let isFreeing = false
  /**
   * Runs maintenance until it frees no more rows or the disk has space again. Deleting rows grows the WAL
   * first, so each run follows a checkpoint that frees its space.
   */
  const freeSpace = async () => {
    if (isFreeing) return
    isFreeing = true
    do await checkpoint()
    while ((await run()) > 0 && context.storage.state === 'full')
    isFreeing = false
  }
  context.storage.onFull(() => void freeSpace())
  const runIfLeading = () => {
    if (context.nodes.leads()) void run()
  }
  const timers = [setTimeout(runIfLeading, firstAfterMs), setInterval(runIfLeading, everyMs)]
  for (const timer of timers) timer.unref()
  return () => {
    for (const timer of timers) clearTimeout(timer)
  }
}
