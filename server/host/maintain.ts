/**
 * Runs maintenance once from a command on the host, with or without a running server. SQLite lets a second
 * process write between the server's commits.
 */
import type { Config } from '../config.ts'
import { createWakeups } from '../delivery/wakeups.ts'
import { type CycleReport, createMaintenance } from '../maintenance/cycle.ts'
import { jobsOf } from '../maintenance-jobs.ts'
import { openStore } from '../open-store.ts'

export interface Host {
  readonly clock: () => Date
  readonly monotonicMs: () => number
  readonly random: (bytes: number) => Buffer
}

/** @throws NotInitialisedError; errors of opening or writing the database */
export async function maintainStore(
  config: Pick<Config, 'data' | 'databaseUrl'>,
  host: Host,
  stopping: AbortSignal,
): Promise<CycleReport> {
  let failure: unknown
  const onFatal = (error: unknown) => {
    failure ??= error
  }
  const store = await openStore(config, { ...host, onFatal, onEffectError: onFatal })
  try {
    // No request waits in this process. A running server finds the stored messages by its recheck.
    const context = { write: store.writer.write, ...host, stopping, wakeups: createWakeups() }
    const onFailure = (_job: string, error: unknown) => onFatal(error)
    const report = await createMaintenance(context, jobsOf(store.nonces), onFailure).cycle()
    if (failure !== undefined) throw failure
    return report
  } finally {
    await store.close()
  }
}
