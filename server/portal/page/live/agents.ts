/** Agents of a project by name. A snapshot lists 500 of them; if there are more, all are read once. */
import { useEffect, useState } from 'preact/hooks'
import type { SnapshotAgent } from '../../../../sdk/browser.ts'
import { owner } from '../owner.ts'
import type { LiveProject } from './project.ts'

export type NamedAgent = Pick<SnapshotAgent, 'id' | 'name' | 'state'>

export interface Agents {
  readonly agents: readonly NamedAgent[]
  /** Name of an agent; `…` until the agents are known. */
  readonly nameOf: (id: string) => string
}

export function useAgents(project: string, live: LiveProject): Agents {
  const { agents: listed = [], has_more_agents: hasMore = false } = live.snapshot.value ?? {}
  const [all, setAll] = useState<readonly NamedAgent[]>()
  useEffect(() => {
    // Without the others, the first 500 keep their names.
    if (hasMore) everyAgent(project).then(setAll, () => undefined)
  }, [project, hasMore])
  const agents = all ?? listed
  return { agents, nameOf: (id) => agents.find((each) => each.id === id)?.name ?? '…' }
}

async function everyAgent(project: string): Promise<NamedAgent[]> {
  const all: NamedAgent[] = []
  for await (const agent of owner.agents.all(project)) all.push(agent)
  return all
}
