/**
 * The prompts of the new agents, each with a live line that follows its agent.
 *
 * A prompt holds a code that works once. It lives in this screen only and is gone when the screen is left.
 */
import { useEffect, useMemo } from 'preact/hooks'
import type { Project } from '../../../../../sdk/browser.ts'
import { liveProject } from '../../live/project.ts'
import { concerns } from '../../parts/enrolment-steps.tsx'
import { Heading } from '../../parts/heading.tsx'
import { Silence } from '../../parts/silence.tsx'
import type { Enrolled } from './enrolled.ts'
import { Prompt } from './prompt.tsx'

interface Props {
  readonly project: Project
  readonly enrolled: readonly Enrolled[]
  /** Removes the prompt of an agent from the state of the first run. */
  readonly drop: (agent: string) => void
}

export function Prompts({ project, enrolled, drop }: Props) {
  const live = useMemo(() => liveProject(project.id), [project.id])
  useEffect(() => live.stop, [live])
  const { agents = [], activity = [] } = live.snapshot.value ?? {}
  const listening = agents.filter(({ connection }) => connection.listening_now).length
  const isDone = listening === enrolled.length && !live.isStale.value
  return (
    <>
      <Heading title="Prompts">
        {enrolled.length === 1 ? 'Give the agent its prompt' : 'Give each agent its prompt'}
      </Heading>
      <p>
        Paste each prompt into Claude Code, Codex or another coding agent, each in its own terminal. The agent
        installs the client, proves itself with the code, and listens. A code works once, and is shown only
        here.
      </p>
      <Silence live={live} />
      <div class="prompts">
        {enrolled.map((each) => (
          <Prompt
            key={each.agent.id}
            enrolled={each}
            seen={agents.find(({ id }) => id === each.agent.id)}
            records={activity.filter((record) => concerns(record, each.agent.id))}
            nowMs={live.nodeNow.value}
            isStale={live.isStale.value}
            drop={() => drop(each.agent.id)}
          />
        ))}
      </div>
      <details>
        <summary>Nothing happens?</summary>
        <ul class="hints">
          <li>The agent's sandbox blocks the network. Allow it to reach {location.origin}.</li>
          <li>Node 22.19 or newer is missing on the machine of the agent.</li>
          <li>The agent runs on another machine, where {location.origin} is another computer.</li>
        </ul>
        <p>
          <code>agent-bridge doctor</code> on the machine of the agent finds the cause.
        </p>
      </details>
      <p class="actions">
        <a class="button" href={`/projects/${project.id}`}>
          {isDone ? 'They listen: open the project' : 'Open the project'}
        </a>
      </p>
    </>
  )
}
