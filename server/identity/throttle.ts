/**
 * Rate limits: a token bucket per agent, one per address for requests without credentials, and counts of
 * failed authentications per address. An IPv6 /64 network counts as one address.
 *
 * - Each kind of identity has a separate count, so an agent that fails in a loop never locks the owner out.
 * - A full count refuses only requests that fail authentication, so an agent with a wrong key never locks out
 *   others at the same address. Passwords are the exception, because checking one is costly: if an address
 *   exceeds three times its limit, they are refused unchecked.
 *
 * With several nodes on one database, each node has a full bucket for each agent. Once a node has admitted more
 * than a tenth of what the rate allows in a second, it tells the others, which take it off theirs. So a sustained
 * rate holds after two seconds, however many nodes share it, and a burst may be as large at each node. Half of the
 * rate would be too coarse: three nodes could then admit half of it each. A node tells failures likewise.
 *
 * Contract §2.
 */

import { ApiError } from '../api-error.ts'
import { type Bus, noBus } from '../bus/bus.ts'
import { networkOf } from './network.ts'

/** Kinds of identity for which failed authentications are counted. */
export type Surface = 'proof' | 'enrollment' | 'password' | 'link' | 'telemetry'

export interface Throttle {
  /**
   * Charges a request that needs no credential: of the API, or of the owner's page. @throws rate_limited if this
   * bucket of the address is empty
   */
  takePublic(address: string, of?: 'api' | 'page'): void
  /** @throws rate_limited if the bucket of the agent is empty */
  takeAgent(agentId: string): void
  /** Counts a failed authentication. @throws rate_limited beyond the limit per minute */
  countFailure(surface: Surface, address: string): void
  /**
   * Called before costly work. @throws rate_limited if the address has failed three times its limit within a
   * minute
   */
  refuseFlood(surface: Surface, address: string): void
  /** Tells the other nodes about the last second. Must be called once per second. */
  share(): void
}

interface Bucket {
  tokens: number
  at: number
  /** When each other node last told that it admitted requests. */
  tellers?: Map<string, number>
}

interface Rate {
  readonly perSecond: number
  readonly burst: number
}

export interface ThrottleLimits {
  readonly ratePerSecond: number
  readonly rateBurst: number
  readonly publicPerSecond: number
  readonly publicBurst: number
  readonly failedAuthPerMinute: number
}

/** Size limit of each map. The oldest entries are dropped, so memory stays bounded. */
const maxEntries = 10_000
/** Multiple of the limit at which an address is refused without checking its password. */
const flood = 3
const windowMs = 60_000

/** Entries of one kind that a node tells in a second: the largest ones. */
const maxTold = 500
/** A node tells the use of an agent that exceeds this part of the rate. */
const toldShare = 10
/** Requests that were not told are forgotten after this time: too few to matter. */
const untoldMs = 10_000
/** A node that told nothing for this time admits nothing beside this one. */
const tellsWithinMs = 2000

export function createThrottle(
  nowMs: () => number,
  rates: ThrottleLimits,
  bus: Pick<Bus, 'tell' | 'hear' | 'mode'> = noBus,
): Throttle {
  const isShared = bus.mode !== 'none'
  const used = new Map<string, { count: number; readonly since: number }>()
  const failed = new Map<string, { readonly surface: Surface; readonly network: string; count: number }>()
  const agents = new Map<string, Bucket>()
  // Apart, so that an agent which asks in a loop never keeps the page from the owner.
  const addresses = { api: new Map<string, Bucket>(), page: new Map<string, Bucket>() }
  const counts = (): Map<string, { count: number; since: number }> => new Map()
  const failures: Readonly<Record<Surface, ReturnType<typeof counts>>> = {
    proof: counts(),
    enrollment: counts(),
    password: counts(),
    link: counts(),
    telemetry: counts(),
  }
  const current = (surface: Surface, network: string) => {
    const known = failures[surface].get(network)
    return known !== undefined && nowMs() - known.since < windowMs ? known : undefined
  }
  const tooMany = (since: number) =>
    new ApiError('rate_limited', {
      message: 'Too many failed authentications from this address; wait and check the credential.',
      retryAfterMs: Math.max(1, Math.ceil(since + windowMs - nowMs())),
    })

  const refilled = (buckets: Map<string, Bucket>, key: string, { perSecond, burst }: Rate): Bucket => {
    const now = nowMs()
    const bucket = buckets.get(key) ?? { tokens: burst, at: now }
    const refill = (Math.max(0, now - bucket.at) / 1000) * perSecond
    bucket.tokens = Math.min(burst, bucket.tokens + refill)
    bucket.at = now
    remember(buckets, key, bucket)
    return bucket
  }

  const take = (buckets: Map<string, Bucket>, key: string, rate: Rate) => {
    const bucket = refilled(buckets, key, rate)
    const { perSecond } = rate
    if (bucket.tokens < 1)
      throw new ApiError('rate_limited', {
        retryAfterMs: Math.ceil(((1 - bucket.tokens) / perSecond) * 1000),
      })
    bucket.tokens -= 1
  }

  const ofAgents: Rate = { perSecond: rates.ratePerSecond, burst: rates.rateBurst }
  const countFailures = (surface: Surface, network: string, count: number) => {
    const entry = current(surface, network) ?? { count: 0, since: nowMs() }
    entry.count += count
    remember(failures[surface], network, entry)
    return entry
  }

  bus.hear('used', ([agentId, requests], from) => {
    const bucket = refilled(agents, agentId, ofAgents)
    const now = nowMs()
    const told = (bucket.tellers ?? new Map<string, number>()).set(from, now)
    for (const [node, at] of told) if (now - at > tellsWithinMs) told.delete(node)
    bucket.tellers = told
    // A debt of a second for each node that admits, and of two at least: an agent is refused no longer.
    const most = Math.max(2, 1 + told.size) * ofAgents.perSecond
    bucket.tokens = Math.max(-most, bucket.tokens - requests)
  })
  bus.hear('failed', ([surface, network, count]) => {
    if (isSurface(surface)) countFailures(surface, network, count)
  })

  return {
    share() {
      const heavy = [...used].filter(([, { count }]) => count > ofAgents.perSecond / toldShare)
      for (const [agentId, { count }] of largest(heavy, ([, each]) => each.count)) {
        bus.tell('used', [agentId, count])
        used.delete(agentId)
      }
      const now = nowMs()
      for (const [agentId, { since }] of used) if (now - since >= untoldMs) used.delete(agentId)
      for (const { surface, network, count } of largest([...failed.values()], (each) => each.count))
        bus.tell('failed', [surface, network, count])
      failed.clear()
    },
    takePublic(address, of = 'api') {
      take(addresses[of], networkOf(address), { perSecond: rates.publicPerSecond, burst: rates.publicBurst })
    },
    takeAgent(agentId) {
      take(agents, agentId, ofAgents)
      if (!isShared) return
      const told = used.get(agentId) ?? { count: 0, since: nowMs() }
      told.count += 1
      remember(used, agentId, told)
    },
    countFailure(surface, address) {
      const network = networkOf(address)
      const entry = countFailures(surface, network, 1)
      if (isShared) {
        const key = `${surface} ${network}`
        const told = failed.get(key) ?? { surface, network, count: 0 }
        told.count += 1
        remember(failed, key, told)
      }
      if (entry.count > rates.failedAuthPerMinute) throw tooMany(entry.since)
    },
    refuseFlood(surface, address) {
      const entry = current(surface, networkOf(address))
      if (entry !== undefined && entry.count >= flood * rates.failedAuthPerMinute) throw tooMany(entry.since)
    },
  }
}

const surfaces: readonly Surface[] = ['proof', 'enrollment', 'password', 'link', 'telemetry']
const isSurface = (name: string): name is Surface => surfaces.some((each) => each === name)

const largest = <T>(all: readonly T[], sizeOf: (each: T) => number): T[] =>
  all.toSorted((one, other) => sizeOf(other) - sizeOf(one)).slice(0, maxTold)

function remember<T>(map: Map<string, T>, key: string, value: T): void {
  map.set(key, value)
  if (map.size <= maxEntries) return
  for (const oldest of map.keys()) {
    map.delete(oldest)
    return
  }
}
