/**
 * Random faults of an object store: each request may be slow, refused, cut, unanswered, or get other bytes.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { type Chance, pick } from '../../support/chance.ts'
import type { Faults } from '../../support/object-store.ts'

const kinds = [
  'slow',
  'stalled',
  'refused',
  'stored and refused',
  'cut',
  'answer lost',
  'other bytes',
  'listed late',
] as const
export type FaultKind = (typeof kinds)[number]

export interface Chaos {
  readonly faults: Faults
  /** Number of faults by kind, since the start. */
  readonly counts: Map<FaultKind, number>
  /** Share of the requests that have a fault, 0 to 1. */
  share: number
}

/** `stalledMs` is longer than a node waits for the store. */
export function createChaos(chance: Chance, stalledMs: number): Chaos {
  const counts = new Map<FaultKind, number>()
  /** Whether a request has one of these faults, which is counted. */
  const drawn = (...some: FaultKind[]): FaultKind | undefined => {
    const kind = chance() < chaos.share ? pick(chance, some) : undefined
    if (kind !== undefined) counts.set(kind, (counts.get(kind) ?? 0) + 1)
    return kind
  }
  const chaos: Chaos = {
    counts,
    share: 0,
    faults: {
      async before() {
        const kind = drawn('slow', 'slow', 'refused', 'stalled')
        if (kind === 'slow') await pause(chance() * 60)
        if (kind === 'stalled') await pause(stalledMs)
        if (kind !== 'refused') return undefined
        return pick(chance, [
          { status: 500, code: 'InternalError' },
          { status: 503, code: 'SlowDown' },
        ])
      },
      // Asked for each chunk of a part, so a smaller share of them is cut.
      cutAfter: () => chance() < 0.2 && drawn('cut') !== undefined,
      afterPut: () => {
        const kind = drawn('stored and refused', 'answer lost')
        if (kind === 'stored and refused') return { status: 500, code: 'InternalError' }
        return kind && 'lost'
      },
      served(_, bytes) {
        if (drawn('other bytes') === undefined || bytes.length === 0) return bytes
        if (chance() < 0.3) return bytes.subarray(0, -1)
        const other = Buffer.from(bytes)
        const at = Math.floor(chance() * other.length)
        other[at] = (other[at] ?? 0) ^ 1
        return other
      },
      async beforeChunk() {
        if (chance() < 0.2 && drawn('slow') !== undefined) await pause(chance() * 60)
      },
      listed: () => drawn('listed late') === undefined,
    },
  }
  return chaos
}
