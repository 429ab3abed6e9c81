/**
 * Every metric of the node, in Prometheus' own client library: the only file that loads it, and only once somebody asked
 * for metrics.
 *
 * - Names follow Prometheus: a prefix of ours, base units, `_total` for what only grows.
 * - What happens is counted as it happens; what is so is read when it is asked for.
 * - Every label has few values, all of them words of this program.
 */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from '@prometheus-io/client'
import type { Meters } from './meters.ts'
import type { Observed } from './observed.ts'

export interface WatchingMeters extends Meters {
  /** From now on a scrape tells also what is so. */
  watch(observed: Observed): void
  /** For the reference. */
  described(): readonly DescribedMetric[]
}

export interface DescribedMetric {
  readonly name: string
  readonly type: string
  readonly labels: readonly string[]
  readonly help: string
}

/** From a read that touches nothing to a wait of the longest kind. */
const requestSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25]
const diskSeconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5]
const groupSizes = [1, 2, 4, 8, 16, 32, 64, 128]

type Reading = Readonly<Record<string, number>>

export function createMeters(): WatchingMeters {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 20 })
  let observed: Observed | undefined

  const requests = new Histogram({
    name: 'bridge_request_duration_seconds',
    help: 'Answered requests by endpoint (its id in the API reference; none for a path or method that does not exist) and status. A waiting read counts with its wait.',
    labelNames: ['endpoint', 'status'],
    buckets: requestSeconds,
    registers,
  })
  const cut = new Counter({
    name: 'bridge_requests_cut_total',
    help: 'Requests whose client left before it was answered, waiting reads among them.',
    labelNames: ['endpoint'],
    registers,
  })
  const groupSize = new Histogram({
    name: 'bridge_write_group_requests',
    help: 'Requests that one transaction held.',
    buckets: groupSizes,
    registers,
  })
  const groupTime = new Histogram({
    name: 'bridge_write_group_duration_seconds',
    help: 'A transaction from its begin until everyone in it was told.',
    buckets: diskSeconds,
    registers,
  })
  const commitTime = new Histogram({
    name: 'bridge_commit_duration_seconds',
    help: 'The commit alone: writing the log and waiting for the disk.',
    buckets: diskSeconds,
    registers,
  })
  const failures = new Counter({
    name: 'bridge_write_groups_failed_total',
    help: 'Transactions of which nothing was stored: the disk was full, another process held the database for too long (refused), or disk and file are in doubt (broken), which ends the process.',
    labelNames: ['reason'],
    registers,
  })
  const runs = new Counter({
    name: 'bridge_maintenance_runs_total',
    help: 'Runs of maintenance: done, failed in a part, or skipped because the clock had jumped.',
    labelNames: ['outcome'],
    registers,
  })
  const rows = new Counter({
    name: 'bridge_maintenance_rows_total',
    help: 'Rows that maintenance removed or changed.',
    labelNames: ['job'],
    registers,
  })
  const lastRun = new Gauge({
    name: 'bridge_maintenance_last_run_timestamp_seconds',
    help: 'When maintenance last ran, in Unix time; absent before its first run.',
    labelNames: ['outcome'],
    registers,
  })

  /** A gauge of several values that is read when it is asked for; what cannot be read is absent, and the rest is told. */
  const read = (
    name: string,
    help: string,
    label: string,
    reading: (from: Observed) => Reading | Promise<Reading>,
  ) =>
    new Gauge({
      name,
      help,
      labelNames: [label],
      registers,
      async collect() {
        this.reset()
        const values =
          observed === undefined ? {} : await Promise.resolve(reading(observed)).catch(() => ({}))
        for (const [value, number] of Object.entries(values)) this.set({ [label]: value }, number)
      },
    })

  read('bridge_waits', 'Waiting reads that are open, by what holds them.', 'transport', (from) =>
    from.waits(),
  )
  read(
    'bridge_queue_length',
    'What waits for its turn: transactions for the writer, reads for the reader, proofs to be verified.',
    'queue',
    (from) => from.queues(),
  )
  read(
    'bridge_sessions',
    'Agent sessions: active ones as the database knows them, and those of them that hold a waiting read.',
    'state',
    (from) => from.sessions(),
  )
  read(
    'bridge_storage_bytes',
    'What the node keeps on its disk: the database, its log (wal), the packages with the room that open offers reserve, and the reserve file.',
    'kind',
    (from) => from.storage(),
  )
  read(
    'bridge_disk_bytes',
    'The disk of the data folder: its size, and what is free for this process.',
    'kind',
    (from) => from.disk(),
  )
  read('bridge_ready', 'The checks of readiness: 1 holds, 0 fails.', 'check', (from) => from.readiness())
  read('bridge_build_info', 'Always 1, with the version that runs.', 'version', (from) => ({
    [from.version]: 1,
  }))

  return {
    answered: (endpoint, status, seconds) => requests.observe({ endpoint, status: String(status) }, seconds),
    cut: (endpoint) => cut.inc({ endpoint }),
    group({ requests: size, groupMs, commitMs, failure }) {
      if (failure !== undefined) return failures.inc({ reason: failure })
      groupSize.observe(size)
      groupTime.observe(groupMs / 1000)
      if (commitMs !== undefined) commitTime.observe(commitMs / 1000)
    },
    maintained({ outcome, at, jobs }) {
      runs.inc({ outcome })
      lastRun.set({ outcome }, at.getTime() / 1000)
      for (const { name, done } of jobs) rows.inc({ job: jobLabel(name) }, done)
    },
    removed: (job, count) => rows.inc({ job: jobLabel(job) }, count),
    watch(source) {
      observed = source
    },
    described: () => registry.getMetricsAsArray().map(described),
    text: () => registry.metrics(),
    contentType: registry.contentType,
  }
}

/** `messages removed` → `messages_removed`. */
const jobLabel = (name: string): string => name.replaceAll(/[^a-z]+/g, '_')

/** The library keeps the labels of a metric, and does not say so. */
function described(metric: ReturnType<Registry['getMetricsAsArray']>[number]): DescribedMetric {
  const { labelNames = [] } = metric as { readonly labelNames?: readonly string[] }
  return { name: metric.name, type: String(metric.type), labels: labelNames, help: metric.help }
}
