/** The server's own maintenance: a minute after its start, then every hour. */
import type { Context } from '../context.ts'
import type { Nonces } from '../database/nonces.ts'
import { createMaintenance } from './cycle.ts'
import { jobsOf } from './jobs.ts'

const firstAfterMs = 60_000
const everyMs = 3_600_000

/** Runs until the returned function is called. */
export function startMaintenance(context: Context, nonces: Nonces): () => void {
  const { log } = context
  const maintenance = createMaintenance(context, jobsOf(nonces), (name, error) =>
    log.error({ err: error, job: name }, 'a job of the maintenance failed'),
  )
  /** Answers how many rows it removed or changed. */
  const run = async () => {
    try {
      const { skipped_for_jump_seconds: jump, jobs } = await maintenance.cycle()
      if (jump !== null)
        log.warn(
          { jump_seconds: jump },
          'the clock has jumped; maintenance skips one run and removes nothing',
        )
      const failed = jobs.some((job) => job.failure !== null)
      const outcome = jump !== null ? 'skipped' : failed ? 'failed' : 'done'
      context.meters?.maintained({ outcome, at: context.clock(), jobs })
      const done = jobs.filter((job) => job.done > 0)
      if (done.length > 0) log.info({ jobs: done }, 'maintenance')
      return done.reduce((sum, job) => sum + job.done, 0)
    } catch (error) {
      context.meters?.maintained({ outcome: 'failed', at: context.clock(), jobs: [] })
      if (!context.stopping.aborted) log.error({ err: error }, 'maintenance did not run')
      return 0
    }
  }
  /** A log that cannot be folded is as good as the file, and is folded later. */
  const fold = async () => {
    try {
      await context.foldStore()
    } catch (error) {
      if (!context.stopping.aborted) log.warn({ err: error }, 'the log of the database was not folded')
    }
  }
  let relieving = false
  /** Removing rows writes them to the log first: what little room there is is folded free again as often as it helps. */
  const relieve = async () => {
    if (relieving) return
    relieving = true
    do await fold()
    while ((await run()) > 0 && context.storage.state === 'full')
    relieving = false
  }
  context.storage.onFull(() => void relieve())
  const timers = [setTimeout(run, firstAfterMs), setInterval(run, everyMs)]
  for (const timer of timers) timer.unref()
  return () => {
    for (const timer of timers) clearTimeout(timer)
  }
}
