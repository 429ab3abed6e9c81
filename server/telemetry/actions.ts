/**
 * Stores load samples of hosts and lists the latest one of each. They are measurements, so they are not
 * audited. Contract §11.
 */
import { limits } from '../../sdk/contract/limits.ts'
import type {
  HostSample,
  HostSampleInput,
  HostSampleList,
  NodeStorage,
} from '../../sdk/contract/telemetry.ts'
import { ApiError } from '../api-error.ts'
import type { Context } from '../context.ts'
import { reservedBytes } from '../host/storage/reserve-file.ts'
import { databaseBytes, roomOf } from '../host/storage/sizes.ts'
import type { OwnerCaller } from '../identity/callers.ts'
import { readAsOwner } from '../identity/owner.ts'
import { retryAfterMs } from '../retry-after.ts'
import * as store from './store.ts'

/**
 * A sample from a clock that is ahead is dated now. Otherwise the host would never become stale, and its
 * later samples would be ignored.
 */
const notAhead = (at: string, now: Date): string => (at < now.toISOString() ? at : now.toISOString())

/**
 * Stores a sample. A sample older than the stored one changes nothing. @throws invalid_request,
 * capacity_reached
 */
export function reportHost(context: Context, input: HostSampleInput): Promise<HostSample> {
  if (input.memory_used_bytes > input.memory_total_bytes) {
    const problem = 'must not be more than memory_total_bytes'
    throw new ApiError('invalid_request', {
      message: `body/memory_used_bytes ${problem}.`,
      details: { faults: [{ path: 'body/memory_used_bytes', problem }] },
    })
  }
  return context.write(async (tx) => {
    const sample = { ...input, sampled_at: notAhead(input.sampled_at, tx.now) }
    const known = await store.findHost(tx.db, input.host)
    if (known === undefined && (await store.countHosts(tx.db)) >= limits.telemetryHosts) {
      throw new ApiError('capacity_reached', {
        details: { limit: 'telemetry_hosts' },
        retryAfterMs: retryAfterMs.otherParty,
      })
    }
    if (known !== undefined && known.sampled_at > sample.sampled_at) return toHostSample(known, tx.now)
    await store.keepSample(tx, sample)
    return toHostSample(sample, tx.now)
  })
}

const toHostSample = (sample: HostSampleInput, now: Date): HostSample => ({
  host: sample.host,
  sampled_at: sample.sampled_at,
  cpu_percent: sample.cpu_percent,
  memory_used_bytes: sample.memory_used_bytes,
  memory_total_bytes: sample.memory_total_bytes,
  stale: now.getTime() - Date.parse(sample.sampled_at) > limits.telemetryStaleSeconds * 1000,
})

/** Lists all hosts. The node's own host is included. If it also reports, the later sample is listed. */
export async function listTelemetry(context: Context, caller: OwnerCaller): Promise<HostSampleList> {
  const storage = await nodeStorage(context)
  return readAsOwner(context, caller, async (db, now) => {
    const own = context.ownHost()
    const reported: HostSampleInput[] = await store.listHosts(db)
    const same = reported.find(({ host }) => host === own.host)
    const samples =
      same !== undefined && same.sampled_at > own.sampled_at
        ? reported
        : [own, ...reported.filter(({ host }) => host !== own.host)]
    const hosts = samples
      .map((sample) => toHostSample(sample, now))
      .sort((one, other) => (one.host < other.host ? -1 : 1))
    return { hosts, storage, observed_at: now.toISOString() }
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
