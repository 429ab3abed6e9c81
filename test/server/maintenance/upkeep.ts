/** Maintenance for a test: on the data folder of a running server, with the test's clock and jobs. */
import { randomBytes } from 'node:crypto'
import { createWakeups } from '../../../server/delivery/wakeups.ts'
import { createMaintenance } from '../../../server/maintenance/cycle.ts'
import type { Job, MaintenanceContext } from '../../../server/maintenance/job.ts'
import { jobsOf } from '../../../server/maintenance-jobs.ts'
import { openStore } from '../../../server/open-store.ts'
import { testConfig } from '../../support/config.ts'

export interface Times {
  readonly clock?: () => Date
  readonly monotonicMs?: () => number
}

export async function openUpkeep(data: string, times: Times = {}, jobs?: readonly Job[]) {
  const fail = (error: unknown) => {
    throw error
  }
  const { clock = () => new Date(), monotonicMs = () => performance.now() } = times
  const options = { clock, monotonicMs, random: randomBytes, onFatal: fail, onEffectError: fail }
  const store = await openStore(testConfig(data), options)
  const stop = new AbortController()
  const context: MaintenanceContext = {
    write: store.writer.write,
    clock,
    monotonicMs,
    random: randomBytes,
    stopping: stop.signal,
    wakeups: createWakeups(),
  }
  const failures: string[] = []
  const maintenance = createMaintenance(context, jobs ?? jobsOf(store.nonces), (name) => failures.push(name))
  return { ...maintenance, failures, stop: () => stop.abort(), close: () => store.close() }
}

/** Performs one run; returns the amount of each job that did something. */
export async function upkeep(data: string, times?: Times): Promise<Record<string, number>> {
  const opened = await openUpkeep(data, times)
  const { jobs } = await opened.cycle()
  await opened.close()
  return Object.fromEntries(jobs.filter(({ done }) => done > 0).map(({ name, done }) => [name, done]))
}
