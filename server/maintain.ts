/** One run of maintenance from the host, with a server or without: SQLite lets a second process write between its commits. */
import { randomBytes } from 'node:crypto'
import type { Config } from './config.ts'
import { createWakeups } from './delivery/wakeups.ts'
import { type CycleReport, createMaintenance } from './maintenance/cycle.ts'
import { jobsOf } from './maintenance/jobs.ts'
import { openStore } from './store.ts'

/** @throws NotInitialised; what the store throws when it cannot be opened or written */
export async function maintain(config: Pick<Config, 'data'>, stopping: AbortSignal): Promise<CycleReport> {
  const monotonicMs = () => performance.now()
  const clock = () => new Date()
  let failure: unknown
  const onFatal = (error: unknown) => {
    failure ??= error
  }
  const options = {
    data: config.data,
    clock,
    monotonicMs,
    random: randomBytes,
    onFatal,
    onEffectError: onFatal,
  }
  const store = openStore(options)
  try {
    // Nobody of this process waits; a running server finds what was stored by its recheck.
    const context = {
      write: store.writer.write,
      clock,
      monotonicMs,
      random: randomBytes,
      stopping,
      wakeups: createWakeups(),
    }
    const report = await createMaintenance(context, jobsOf(store.nonces), onFatal).cycle()
    if (failure !== undefined) throw failure
    return report
  } finally {
    await store.close()
  }
}
