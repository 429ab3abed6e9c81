/**
 * All metrics of the node, registered with the Prometheus client library. Only this file imports that
 * library, and it is loaded only if metrics are on.
 *
 * - Names follow Prometheus's rules: our prefix, base units, `_total` for counters.
 * - Counters and histograms are updated as things happen. Gauges are read on each scrape.
 * - Every label has few values, all of them fixed words.
 */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from '@prometheus-io/client'
import type { Meters } from './meters.ts'
import type { Observed } from './observed.ts'

export interface WatchingMeters extends Meters {
  /** Adds the gauges of the running server to the next scrapes. */
  watch(observed: Observed): void
  /** All metrics, for the reference page. */
  described(): readonly DescribedMetric[]
}

export interface DescribedMetric {
  readonly name: string
  readonly type: string
  readonly labels: readonly string[]
  readonly help: string
}

/** Buckets from a cheap read up to the longest long-poll. */
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
    help: 'Answered requests by endpoint (its id in the API reference; none for a path or method that does not exist) and status. The duration of a long-poll includes its wait.',
    labelNames: ['endpoint', 'status'],
    buckets: requestSeconds,
    registers,
  })
  const cut = new Counter({
    name: 'bridge_requests_cut_total',
    help: 'Requests whose client disconnected before the answer, long-polls included.',
    labelNames: ['endpoint'],
    registers,
  })
  const groupSize = new Histogram({
    name: 'bridge_write_group_requests',
    help: 'Requests per write transaction.',
    buckets: groupSizes,
    registers,
  })
  const groupTime = new Histogram({
    name: 'bridge_write_group_duration_seconds',
    help: 'Duration of a write transaction, from its start until all its requests were answered.',
    buckets: diskSeconds,
    registers,
  })
  const commitTime = new Histogram({
    name: 'bridge_commit_duration_seconds',
    help: 'Duration of the commit alone: writing the WAL and waiting for the disk.',
    buckets: diskSeconds,
    registers,
  })
  const failures = new Counter({
    name: 'bridge_write_groups_failed_total',
    help: 'Transactions that failed: the disk was full (full), another process locked the database for too long (refused), or the state on disk is unknown (broken), which ends the process.',
    labelNames: ['reason'],
    registers,
  })
  const runs = new Counter({
    name: 'bridge_maintenance_runs_total',
    help: 'Runs of maintenance: done, failed in part, or skipped because the clock had jumped.',
    labelNames: ['outcome'],
    registers,
  })
  const rows = new Counter({
    name: 'bridge_maintenance_rows_total',
    help: 'Rows that maintenance deleted or changed.',
    labelNames: ['job'],
    registers,
  })
  const lastRun = new Gauge({
    name: 'bridge_maintenance_last_run_timestamp_seconds',
    help: 'Unix time of the last maintenance run; absent before the first run.',
    labelNames: ['outcome'],
    registers,
  })

  /**
   * Creates a gauge with several values that are read on each scrape. If reading fails, this gauge is absent
   * and the others are still reported.
   */
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

  read('bridge_waits', 'Open long-polls, streams and sockets, by transport.', 'transport', (from) =>
    from.waits(),
  )
  read(
    'bridge_queue_length',
    'Queue lengths: requests that wait for the writer, for the reader, and for the verification of a proof.',
    'queue',
    (from) => from.queues(),
  )
  read(
    'bridge_sessions',
    'Agent sessions: active ones in the database, and those with an open wait.',
    'state',
    (from) => from.sessions(),
  )
  read(
    'bridge_storage_bytes',
    'Bytes of the database, its WAL (wal), the packages including the quota reserved by open offers, and the reserve file. Packages may be in an object store; the others are on the disk.',
    'kind',
    (from) => from.storage(),
  )
  read(
    'bridge_disk_bytes',
    'Disk of the data folder: its size, and the space free for this process.',
    'kind',
    (from) => from.disk(),
  )
  read('bridge_ready', 'Readiness checks: 1 if the check passes, 0 if it fails.', 'check', (from) =>
    from.readiness(),
  )
  read(
    'bridge_peers',
    'How the node learns of commits of other nodes on PostgreSQL: 1 for the present way, notified or polled, and 0 for the other. Absent on SQLite.',
    'mode',
    (from) => from.peers(),
  )
  read(
    'bridge_notifications',
    'Notifications between nodes since the start, sent and received. Absent on SQLite.',
    'direction',
    (from) => from.notifications(),
  )
  read('bridge_build_info', 'Always 1; the label is the running version.', 'version', (from) => ({
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

/** Adds the label names, which the library keeps on the metric but does not declare in its types. */
function described(metric: ReturnType<Registry['getMetricsAsArray']>[number]): DescribedMetric {
  const { labelNames = [] } = metric as { readonly labelNames?: readonly string[] }
  return { name: metric.name, type: String(metric.type), labels: labelNames, help: metric.help }
}
