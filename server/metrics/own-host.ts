/** Load of the node's own host, sampled every 30 seconds and kept in memory only. */
import { cpus, freemem, hostname, totalmem } from 'node:os'
import type { HostSampleInput } from '../../sdk/contract/telemetry.ts'

const everyMs = 30_000

interface Times {
  readonly busy: number
  readonly all: number
}

/** Returns a function that returns the latest sample, dated in steady time. `taken` is called with each. */
export function watchOwnHost(
  steadyNow: () => Date,
  stopping: AbortSignal,
  taken: (sample: HostSampleInput) => void,
): () => HostSampleInput {
  let before = processorTimes()
  let sample: HostSampleInput | undefined
  const take = (): HostSampleInput => {
    const now = processorTimes()
    const passed = now.all - before.all
    const cpu = passed > 0 ? (100 * (now.busy - before.busy)) / passed : 0
    before = now
    const total = totalmem()
    sample = {
      host:
        hostname()
          .replace(/[^A-Za-z0-9._-]/g, '-')
          .replace(/^[^A-Za-z0-9]+/, '') || 'node',
      sampled_at: steadyNow().toISOString(),
      cpu_percent: Math.min(100, Math.max(0, Math.round(cpu * 10) / 10)),
      memory_used_bytes: total - freemem(),
      memory_total_bytes: total,
    }
    taken(sample)
    return sample
  }
  const timer = setInterval(take, everyMs)
  timer.unref()
  stopping.addEventListener('abort', () => clearInterval(timer), { once: true })
  return () => sample ?? take()
}

/** Busy and total time of all processors since boot. */
function processorTimes(): Times {
  const sums = cpus().map(({ times: { user, nice, sys, idle, irq } }) => {
    const busy = user + nice + sys + irq
    return { busy, all: busy + idle }
  })
  return {
    busy: sums.reduce((sum, { busy }) => sum + busy, 0),
    all: sums.reduce((sum, { all }) => sum + all, 0),
  }
}
