/** How much longer than usual the users of a story waited. */
import { type Kind, kinds, type Step } from './story.ts'
import type { Victim } from './victims.ts'

/** The time from a kill until the story went on. */
export interface Round {
  readonly victim: Victim
  readonly fromMs: number
  readonly toMs: number
}

export interface Stall {
  readonly kind: Kind
  readonly ms: number
  readonly tookMs: number
}

/** How much longer than the median of its kind each step took. */
export function stallsOf(steps: readonly Step[]): (Step & Stall)[] {
  const ended = steps.filter(({ endedMs }) => endedMs < Number.POSITIVE_INFINITY)
  const usual = new Map(kinds.map((kind) => [kind, medianOf(ended.filter((step) => step.kind === kind))]))
  return ended.map((step) => {
    const tookMs = step.endedMs - step.begunMs
    return { ...step, tookMs, ms: tookMs - (usual.get(step.kind) ?? 0) }
  })
}

/** For each victim the step that took the longest time beyond the median of its kind. */
export function worstStalls(steps: readonly Step[], rounds: readonly Round[]): Map<Victim, Stall> {
  const worst = new Map<Victim, Stall>()
  const stalls = stallsOf(steps)
  for (const { victim, fromMs, toMs } of rounds)
    for (const stall of stalls) {
      if (stall.endedMs < fromMs || stall.begunMs > toMs) continue
      if (stall.ms > (worst.get(victim)?.ms ?? Number.NEGATIVE_INFINITY)) worst.set(victim, stall)
    }
  return worst
}

function medianOf(steps: readonly Step[]): number {
  const tookMs = steps.map(({ begunMs, endedMs }) => endedMs - begunMs).sort((one, other) => one - other)
  return tookMs[Math.floor(tookMs.length / 2)] ?? 0
}

export const toldOf = ({ kind, ms, tookMs }: Stall): string =>
  `the worst ${kind} took ${Math.round(tookMs)} ms, ${Math.round(ms)} ms more than usual`
