/**
 * The load of each host in the last 24 hours, one sample a minute, in memory only.
 *
 * - A minute is that of the node's steady clock at receipt, so a wrong clock of a host cannot reorder samples.
 * - A host takes at most 1440 samples of 32 bytes. It is forgotten when its newest sample is 24 hours old.
 * - The number of hosts is bounded by the table of hosts, which refuses a new host beyond 1000.
 *
 * Contract §11.
 */
import { limits } from '../../sdk/contract/limits.ts'
import type { HostSampleInput } from '../../sdk/contract/telemetry.ts'

const capacity = limits.telemetryHistoryMinutes
const minuteMs = 60_000
const fields = 4

export interface MinuteLoad {
  /** Milliseconds of steady time. */
  readonly atMs: number
  readonly cpu_percent: number
  readonly memory_used_bytes: number
  readonly memory_total_bytes: number
}

export interface HostHistories {
  /** Keeps a sample that the node has now. It replaces an earlier one of the same minute. */
  add(sample: Omit<HostSampleInput, 'sampled_at'>, nowMs: number): void
  /** Returns the samples of the last `minutes`, oldest first. Undefined if the host is unknown. */
  read(host: string, nowMs: number, minutes: number): MinuteLoad[] | undefined
  readonly size: number
}

/** A ring: the samples have the places `[count - capacity, count)`, modulo the capacity. */
interface Ring {
  readonly values: Float64Array
  count: number
  lastMs: number
}

export function createHostHistories(): HostHistories {
  const rings = new Map<string, Ring>()

  const forgetSilent = (nowMs: number) => {
    for (const [host, { lastMs }] of rings) if (nowMs - lastMs >= capacity * minuteMs) rings.delete(host)
  }

  const newRing = (host: string): Ring => {
    const ring = { values: new Float64Array(capacity * fields), count: 0, lastMs: Number.NEGATIVE_INFINITY }
    rings.set(host, ring)
    return ring
  }

  return {
    get size() {
      return rings.size
    },
    add({ host, cpu_percent, memory_used_bytes, memory_total_bytes }, nowMs) {
      if (!rings.has(host)) forgetSilent(nowMs)
      const ring = rings.get(host) ?? newRing(host)
      if (minuteOf(nowMs) !== minuteOf(ring.lastMs)) ring.count += 1
      ring.lastMs = nowMs
      const at = ((ring.count - 1) % capacity) * fields
      ring.values.set([nowMs, cpu_percent, memory_used_bytes, memory_total_bytes], at)
    },
    read(host, nowMs, minutes) {
      forgetSilent(nowMs)
      const ring = rings.get(host)
      if (ring === undefined) return undefined
      const first = minuteOf(nowMs) - minutes
      return places(ring)
        .map((place) => loadAt(ring.values, place * fields))
        .filter(({ atMs }) => minuteOf(atMs) > first)
    },
  }
}

const minuteOf = (ms: number): number => Math.floor(ms / minuteMs)

const places = ({ count }: Ring): number[] =>
  Array.from({ length: Math.min(count, capacity) }, (_, n) => (Math.max(0, count - capacity) + n) % capacity)

const loadAt = (values: Float64Array, at: number): MinuteLoad => ({
  atMs: values[at] ?? 0,
  cpu_percent: values[at + 1] ?? 0,
  memory_used_bytes: values[at + 2] ?? 0,
  memory_total_bytes: values[at + 3] ?? 0,
})
