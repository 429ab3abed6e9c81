/** First message of the owner to an agent. Later ones are written in the conversation. */
import { useEffect, useState } from 'preact/hooks'
import type { Agent } from '../../../../../sdk/browser.ts'
import { owner } from '../../owner.ts'
import { useOwnRoute } from '../../parts/own-route.ts'
import { draftOf } from './drafts.ts'
import { Write } from './write.tsx'

interface Props {
  readonly project: string
  readonly nowMs: () => number
}

export function NewMessage({ project, nowMs }: Props) {
  const route = useOwnRoute()
  const [agents, setAgents] = useState<readonly Agent[]>([])
  useEffect(() => {
    // Without the list, a person can still answer in a conversation.
    every(project).then(setAgents, () => undefined)
  }, [project])
  if (agents.length === 0) return null
  return (
    <section aria-labelledby="write">
      <h2 id="write">Write to an agent</h2>
      <Write
        project={project}
        to={agents}
        draft={draftOf(project, agents[0]?.id ?? '')}
        nowMs={nowMs}
        sent={({ conversation_id }) => route(`/projects/${project}/conversations/${conversation_id}`)}
      />
    </section>
  )
}

async function every(project: string): Promise<Agent[]> {
  const all: Agent[] = []
  for await (const agent of owner.agents.all(project, { state: 'enabled' })) all.push(agent)
  return all
}
