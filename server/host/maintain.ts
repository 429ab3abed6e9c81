/** One run of maintenance from the host, with a server or without: SQLite lets a second process write between its commits. */
import type { Config } from '../config.ts'
import { openNodeDatabase } from '../database/database.ts'
import { createWakeups } from '../delivery/wakeups.ts'
import { type CycleReport, createMaintenance } from '../maintenance/cycle.ts'
import { jobsOf } from '../maintenance/jobs.ts'

export interface Host {
  readonly clock: () => Date
  readonly monotonicMs: () => number
  readonly random: (bytes: number) => Buffer
}

/** @throws NotInitialisedError; what the store throws when it cannot be opened or written */
export async function maintainStore(
  { data }: Pick<Config, 'data'>,
  host: Host,
  stopping: AbortSignal,
): Promise<CycleReport> {
  let failure: unknown
  const onFatal = (error: unknown) => {
    failure ??= error
  }
  const store = openNodeDatabase({ data, ...host, onFatal, onEffectError: onFatal })
  try {
    // Nobody of this process waits; a running server finds what was stored by its recheck.
    const context = { write: store.writer.write, ...host, stopping, wakeups: createWakeups() }
    const report = await createMaintenance(context, jobsOf(store.nonces), onFatal).cycle()
    if (failure !== undefined) throw failure
    return report
  } finally {
    await store.close()
  }
}
