/**
 * The rules for several nodes, beside those of the history checker: a rule is a function from what the
 * observers saw to sentences that describe its faults. For each rule `cluster/rules.test.ts` has a faulty run
 * that only this rule rejects.
 */

/** A list that was read by `after`, each page at any node. */
export interface Followed {
  readonly what: string
  readonly seen: readonly string[]
  /** The records of the database at the end, in order. */
  readonly stored: readonly string[]
}

/** An effect that one node confirmed, and the read at a node that began afterwards. */
export interface Probe {
  readonly what: string
  readonly confirmedMs: number
  readonly readMs: number
  readonly seen: boolean
}

/** One signed request that was sent to all nodes at once. Each outcome is `ok`, a code, or `away`. */
export interface Replay {
  readonly nonce: string
  readonly outcomes: readonly string[]
}

/** Holders of a claim or an active session at one moment, by any node. */
export interface Held {
  readonly what: string
  readonly holders: readonly string[]
}

export interface Lane {
  /** The id of a project, or the name of a lane that all share. */
  readonly lane: string
  /** Times at which effects were confirmed. */
  readonly confirmedMs: readonly number[]
  /** Times during which the database confirmed no commit, or nobody wrote. They do not overlap. */
  readonly away: readonly (readonly [fromMs: number, toMs: number])[]
  /** It may not stand for longer, by default 3 s. */
  readonly progressWithinMs?: number | undefined
}

/** A refusal of a request that any node serves. */
export interface Refusal {
  readonly what: string
  readonly status: number
  /** Whether it named the time after which to retry. */
  readonly hasRetryAfter: boolean
}

/** When an observer last had a result, before the end of the run. */
export interface Watch {
  readonly what: string
  readonly agoMs: number
}

export interface ClusterRun {
  readonly followed: readonly Followed[]
  readonly probes: readonly Probe[]
  readonly replays: readonly Replay[]
  readonly held: readonly Held[]
  readonly lanes: readonly Lane[]
  readonly refusals: readonly Refusal[]
  readonly watches: readonly Watch[]
}

export type ClusterRule = (run: ClusterRun) => string[]

/** A reader that follows `after` at any nodes sees every record once, in order. */
export function followersSeeEachRecordOnce({ followed }: ClusterRun): string[] {
  return followed.flatMap(({ what, seen, stored }) => {
    const at = stored.findIndex((id, index) => seen[index] !== id)
    if (at >= 0) {
      const missing = !seen.includes(stored[at] ?? '')
      return [`${what}: record ${at} of ${stored.length} was ${missing ? 'never seen' : 'seen out of order'}`]
    }
    return seen.length > stored.length ? [`${what}: ${seen[stored.length]} was seen again`] : []
  })
}

/** An effect that one node confirmed is seen by the next read at any node. */
export function confirmedEffectsAreSeen({ probes }: ClusterRun): string[] {
  return probes
    .filter(({ seen, confirmedMs, readMs }) => !seen && readMs >= confirmedMs)
    .map(({ what, confirmedMs, readMs }) => `${what} was not seen ${readMs - confirmedMs} ms later`)
}

/** All nodes together accept a nonce once. */
export function noncesAreAcceptedOnce({ replays }: ClusterRun): string[] {
  return replays.flatMap(({ nonce, outcomes }) => {
    const accepted = outcomes.filter((each) => each === 'ok').length
    const certain = outcomes.every((each) => each === 'ok' || each === 'request_replayed')
    return accepted > 1 || (certain && accepted === 0)
      ? [`${nonce} was accepted ${accepted} times: ${outcomes.join(', ')}`]
      : []
  })
}

/** A claim has one holder and an agent one active session, whatever node is asked. */
export function claimsAndSessionsHaveOneHolder({ held }: ClusterRun): string[] {
  return held
    .map(({ what, holders }) => ({ what, names: [...new Set(holders)] }))
    .filter(({ names }) => names.length > 1)
    .map(({ what, names }) => `${what} is held by ${names.join(' and ')}`)
}

const usualProgressWithinMs = 3000
/** For a run beside other work, where a step of any process may take seconds. */
export const busyProgressWithinMs = 10_000

/** While the database answers, no lane is without a confirmed effect for more than three seconds. */
export function lanesMakeProgress({ lanes }: ClusterRun): string[] {
  return lanes.flatMap(({ lane, confirmedMs, away, progressWithinMs = usualProgressWithinMs }) => {
    const sorted = [...confirmedMs].sort((one, other) => one - other)
    return sorted.slice(1).flatMap((to, index) => {
      const from = sorted[index] ?? to
      const lost = away.reduce(
        (sum, [begun, ended]) => sum + Math.max(0, Math.min(to, ended) - Math.max(from, begun)),
        0,
      )
      const idleMs = to - from - lost
      return idleMs > progressWithinMs ? [`lane ${lane} stood for ${Math.round(idleMs)} ms`] : []
    })
  })
}

/** A node refuses what any node serves only with 503 and the time after which to retry. */
export function refusalsNameATime({ refusals }: ClusterRun): string[] {
  return refusals
    .filter(({ status, hasRetryAfter }) => status !== 503 || !hasRetryAfter)
    .map(({ what, status }) => `${what} was answered ${status}`)
}

const watchedWithinMs = 5000

/** Every observer has results until the end. Otherwise the other rules would check only a part of the run. */
export function observersWorkToTheEnd({ watches }: ClusterRun): string[] {
  return watches
    .filter(({ agoMs }) => agoMs > watchedWithinMs)
    .map(({ what, agoMs }) => `the last ${what} was ${Math.round(agoMs)} ms before the end`)
}

export const clusterRules: readonly ClusterRule[] = [
  followersSeeEachRecordOnce,
  confirmedEffectsAreSeen,
  noncesAreAcceptedOnce,
  claimsAndSessionsHaveOneHolder,
  lanesMakeProgress,
  refusalsNameATime,
  observersWorkToTheEnd,
]

/** Returns the sentences of all rules that found a fault, each after the rule's name. */
export const checkCluster = (run: ClusterRun): string[] =>
  clusterRules.flatMap((rule) => rule(run).map((sentence) => `${rule.name}: ${sentence}`))
