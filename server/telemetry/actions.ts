/**
 * Stores load samples of hosts and lists the latest one of each. They are measurements, so they are not
 * audited. Contract §11.
 */

import { limits } from '../../sdk/contract/limits.ts'
import type {
  EndedNode,
  HostHistory,
  HostHistoryQuery,
  HostSample,
  HostSampleInput,
  HostSampleList,
  NodeInfo,
  NodeStorage,
} from '../../sdk/contract/telemetry.ts'
import { ApiError } from '../api-error.ts'
import type { Context } from '../context.ts'
import { nodeLane } from '../database/lanes.ts'
import type { EndedEntry, NodeEntry } from '../database/nodes.ts'
import type { SteadyClock } from '../database/steady-clock.ts'
import type { OwnerCaller } from '../identity/callers.ts'
import { readAsOwner } from '../identity/owner.ts'
import type { MinuteLoad } from '../metrics/host-history.ts'
import { retryAfterMs } from '../retry-after.ts'
import { reservedBytes } from '../storage/reserve-file.ts'
import { databaseBytes, roomOf } from '../storage/sizes.ts'
import * as store from './store.ts'

/**
 * The time of a sample in steady time, so that a set clock of the node makes no sample stale or older than the
 * next. A sample from a clock that is ahead is dated now. Otherwise the host would never become stale, and its
 * later samples would be ignored.
 */
function datedIn(sample: HostSampleInput, steady: SteadyClock, nowIso: string): HostSampleInput {
  const at = steady.ofWall(sample.sampled_at)
  return { ...sample, sampled_at: at < nowIso ? at : nowIso }
}

/**
 * Stores a sample. A sample older than the stored one changes nothing, unless the stored one is stale: the
 * clock of the host may have been set back. @throws invalid_request, capacity_reached
 */
export function reportHost(context: Context, input: HostSampleInput): Promise<HostSample> {
  if (input.memory_used_bytes > input.memory_total_bytes) {
    const problem = 'must not be more than memory_total_bytes'
    throw new ApiError('invalid_request', {
      message: `body/memory_used_bytes ${problem}.`,
      details: { faults: [{ path: 'body/memory_used_bytes', problem }] },
    })
  }
  return context.write(nodeLane, async (tx) => {
    const { steady } = context
    const sample = datedIn(input, steady, tx.steadyIso)
    const known = await store.findHost(tx.db, input.host)
    if (known === undefined && (await store.countHosts(tx.db)) >= limits.telemetryHosts) {
      throw new ApiError('capacity_reached', {
        details: { limit: 'telemetry_hosts' },
        retryAfterMs: retryAfterMs.otherParty,
      })
    }
    const isLate = known !== undefined && known.sampled_at > sample.sampled_at
    if (isLate && !isStale(known, tx.steadyNow)) return toHostSample(known, steady, tx.steadyNow)
    await store.keepSample(tx, sample)
    tx.afterCommit(() => context.hostHistories.add(sample, tx.steadyNow.getTime()))
    return toHostSample(sample, steady, tx.steadyNow)
  })
}

const isStale = ({ sampled_at }: HostSampleInput, steadyNow: Date): boolean =>
  steadyNow.getTime() - Date.parse(sampled_at) > limits.telemetryStaleSeconds * 1000

const toHostSample = (sample: HostSampleInput, steady: SteadyClock, steadyNow: Date): HostSample => ({
  host: sample.host,
  sampled_at: steady.wall(sample.sampled_at),
  cpu_percent: sample.cpu_percent,
  memory_used_bytes: sample.memory_used_bytes,
  memory_total_bytes: sample.memory_total_bytes,
  stale: isStale(sample, steadyNow),
})

export const toNodeInfo = ({ id, name, version, leads, ...node }: NodeEntry): NodeInfo => ({
  ...{ id, name, version, leads },
  started_at: node.startedAt,
  seen_at: node.seenAt,
  cpu_percent: node.load.percent,
  waits: node.load.waits,
  lag_ms: node.lagMs,
})

const toEndedNode = ({ id, name, version, seenAt, left }: EndedEntry): EndedNode => ({
  ...{ id, name, version, left },
  seen_at: seenAt,
})

/** Lists all hosts. The node's own host is included. If it also reports, the later sample is listed. */
export async function listTelemetry(context: Context, caller: OwnerCaller): Promise<HostSampleList> {
  const storage = await nodeStorage(context)
  const nodes = (await context.nodes.list()).map(toNodeInfo)
  const ended_nodes = context.nodes.ended().map(toEndedNode)
  return readAsOwner(context, caller, async (db, now) => {
    const { steady } = context
    const steadyNow = steady.now()
    const own = context.ownHost()
    const reported: HostSampleInput[] = await store.listHosts(db)
    const same = reported.find(({ host }) => host === own.host)
    const samples =
      same !== undefined && same.sampled_at > own.sampled_at
        ? reported
        : [own, ...reported.filter(({ host }) => host !== own.host)]
    const hosts = samples
      .map((sample) => toHostSample(sample, steady, steadyNow))
      .sort((one, other) => (one.host < other.host ? -1 : 1))
    return { hosts, nodes, ended_nodes, storage, observed_at: now.toISOString() }
  })
}

/** Reads the load of one host since the node started, for 24 hours at most. @throws not_found */
export function readHostHistory(
  context: Context,
  caller: OwnerCaller,
  { host, minutes = limits.telemetryHistoryMinutes }: HostHistoryQuery,
): Promise<HostHistory> {
  return readAsOwner(context, caller, async (_db, now) => {
    const { steady, hostHistories } = context
    // The node's own host has its first sample when it is first read.
    context.ownHost()
    const loads = hostHistories.read(host, steady.now().getTime(), minutes)
    if (loads === undefined)
      throw new ApiError('not_found', { message: 'No host of this name has reported in the last 24 hours.' })
    const view = ({ atMs, ...load }: MinuteLoad) => ({
      at: steady.wall(new Date(atMs).toISOString()),
      ...load,
    })
    return { host, minutes: loads.map(view), observed_at: now.toISOString() }
  })
}

async function nodeStorage({ config, storage }: Context): Promise<NodeStorage> {
  const { freeBytes, totalBytes } = await roomOf(config.data)
  const { database, wal } = await databaseBytes(config.data)
  return {
    state: storage.state === 'full' ? 'full' : 'open',
    free_bytes: freeBytes,
    total_bytes: totalBytes,
    database_bytes: database + wal,
    reserve_bytes: reservedBytes(config.data),
  }
}
