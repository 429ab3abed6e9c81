/** Which agents of a project may talk with each other. */

import type { Pages } from '../../live/pages.ts'
import type { LiveProject } from '../../live/project.ts'
import { owner } from '../../owner.ts'
import { useWhole } from '../../parts/whole.ts'

export interface Pairing {
  readonly id: string
  readonly enabled: boolean
}

/** Returns the id of a pair, the same in either order. */
export const pairOf = (one: string, other: string): string => [one, other].sort().join(' ')

export const usePairings = (project: string, live: LiveProject): Pages<Pairing> =>
  useWhole(
    `pairings ${project}`,
    async function* (options) {
      for await (const { agent_ids, enabled } of owner.pairings.all(project, options))
        yield { id: pairOf(agent_ids[0] ?? '', agent_ids[1] ?? ''), enabled }
    },
    // An agent that starts is paired with all others.
    { live, kinds: ['pairing.', 'enrollment.claimed', 'session.started', 'agent.'] },
  )

/** Returns whether two agents may talk. A pair that the node does not list may not. */
export const mayTalk = (pairings: readonly Pairing[], one: string, other: string): boolean =>
  pairings.find(({ id }) => id === pairOf(one, other))?.enabled ?? false
