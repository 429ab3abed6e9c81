/** How much longer than usual the users of a story waited. */
import { type Kind, kinds, type Step } from './story.ts'
import type { Victim } from './victims.ts'

/** Steps of each kind before the first fault, at least. Their median is the usual time. */
export const usualSteps = 12

/** The time from a kill to the next one, or a control without a kill. */
export interface Round {
  readonly victim: Victim | 'nobody'
  readonly fromMs: number
}

export interface Stall {
  readonly kind: Kind
  readonly ms: number
  readonly tookMs: number
  requests(): string[]
}

/** The worst stall beside the kills of one victim. */
export interface Worst {
  readonly kills: number
  /** Kills beside which a step took longer than usual by the bound. */
  readonly slow: number
  readonly stall: Stall
}

/**
 * How much longer than the median of its kind each step took. The median is of the steps that ended before
 * `undisturbedMs`.
 *
 * @throws if a kind has too few of them
 */
export function stallsOf(steps: readonly Step[], undisturbedMs: number): (Step & Stall)[] {
  const before = steps.filter(({ endedMs }) => endedMs < undisturbedMs)
  const usual = new Map(kinds.map((kind) => [kind, medianOf(kind, before)]))
  return steps
    .filter(({ endedMs }) => endedMs < Number.POSITIVE_INFINITY)
    .map((step) => {
      const tookMs = step.endedMs - step.begunMs
      return { ...step, tookMs, ms: tookMs - (usual.get(step.kind) ?? 0) }
    })
}

/**
 * For each victim the number of its kills, and the step that took the longest time beyond the usual one. A step
 * belongs to the last kill before its end, and to no other. The control has the steps that begin in it.
 */
export function worstStalls(
  steps: readonly Step[],
  rounds: readonly Round[],
  boundMs: number,
): Map<Round['victim'], Worst> {
  const worst = new Map<Round['victim'], Worst>()
  const stalls = stallsOf(steps, rounds[0]?.fromMs ?? Number.POSITIVE_INFINITY)
  const roundOf = ({ begunMs, endedMs }: Step): Round | undefined =>
    rounds.findLast(({ victim, fromMs }) => (victim === 'nobody' ? begunMs : endedMs) >= fromMs)
  const byRound = Map.groupBy(stalls, roundOf)
  for (const round of rounds) {
    const { victim } = round
    const own = (byRound.get(round) ?? []).toSorted((one, other) => other.ms - one.ms)[0]
    if (own === undefined) throw new Error(`no step of the story ran beside the kill of ${victim}`)
    const { kills, slow, stall } = worst.get(victim) ?? { kills: 0, slow: 0, stall: own }
    worst.set(victim, {
      kills: kills + 1,
      slow: slow + (own.ms < boundMs ? 0 : 1),
      stall: own.ms > stall.ms ? own : stall,
    })
  }
  return worst
}

function medianOf(kind: Kind, steps: readonly Step[]): number {
  const tookMs = steps
    .filter((step) => step.kind === kind)
    .map(({ begunMs, endedMs }) => endedMs - begunMs)
    .sort((one, other) => one - other)
  const median = tookMs[Math.floor(tookMs.length / 2)]
  if (median === undefined || tookMs.length < usualSteps)
    throw new Error(`only ${tookMs.length} undisturbed steps are of the kind ${kind}`)
  return median
}

export const toldOf = ({ kind, ms, tookMs, requests }: Stall): string =>
  [
    `the worst ${kind} took ${Math.round(tookMs)} ms, ${Math.round(ms)} ms more than usual`,
    ...requests(),
  ].join('\n')
