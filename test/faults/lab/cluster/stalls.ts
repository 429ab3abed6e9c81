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

/** For each victim the step that took the longest time beyond the median of its kind. */
export function worstStalls(steps: readonly Step[], rounds: readonly Round[]): Map<Victim, Stall> {
  const ended = steps.filter(({ endedMs }) => endedMs < Number.POSITIVE_INFINITY)
  const usual = new Map(kinds.map((kind) => [kind, medianOf(ended.filter((step) => step.kind === kind))]))
  const worst = new Map<Victim, Stall>()
  for (const { victim, fromMs, toMs } of rounds)
    for (const { kind, begunMs, endedMs } of ended) {
      if (endedMs < fromMs || begunMs > toMs) continue
      const tookMs = endedMs - begunMs
      const stall = { kind, tookMs, ms: tookMs - (usual.get(kind) ?? 0) }
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
