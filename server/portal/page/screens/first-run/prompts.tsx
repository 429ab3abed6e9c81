/**
 * The prompts of the new agents, each with a live line that follows its agent.
 *
 * A prompt holds a code that works once. It lives in this screen only and is gone when the screen is left.
 */
import type { ComponentProps, ComponentType } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Project, SnapshotAgent } from '../../../../../sdk/browser.ts'
import { type LiveProject, useLiveProject } from '../../live/project.ts'
import { concerns } from '../../parts/enrolment-steps.tsx'
import { Heading } from '../../parts/heading.tsx'
import { Mark } from '../../parts/marks.tsx'
import { Silence } from '../../parts/silence.tsx'
import { Visible } from '../../text/visible.tsx'
import { presence } from '../../words/connection.ts'
import type { Enrolled } from './enrolled.ts'
import type { Hello as HelloType } from './hello.tsx'
import { Help } from './help.tsx'
import { Prompt } from './prompt.tsx'

type HelloProps = ComponentProps<typeof HelloType>

interface Props {
  readonly project: Project
  readonly enrolled: readonly Enrolled[]
  /** Removes the prompt of an agent from the state of the first run. */
  readonly drop: (agent: string) => void
  /** Called when every agent listens, so that the owner can talk. */
  readonly reached: () => void
}

/** Silence after which the page offers help. */
const quietMs = 60_000

export function Prompts({ project, enrolled, drop, reached }: Props) {
  const live = useLiveProject(project.id)
  const { agents = [], activity = [] } = live.snapshot.value ?? {}
  const nowMs = live.nodeNow.value
  const listening = agents.filter(({ connection }) => connection.listening_now)
  const isListening = enrolled.every(({ agent }) => listening.some(({ id }) => id === agent.id))
  const [hasListened, setListened] = useState(false)
  const [isAnswered, setAnswered] = useState(false)
  const [Hello, setHello] = useState<ComponentType<HelloProps>>()
  // A prompt is gone once its code is used.
  const profiles = useMemo(
    () => new Map(enrolled.map(({ agent, issued }) => [agent.id, profileOf(issued.prompt?.current)])),
    [],
  )
  const begun = useRef<number | undefined>(undefined)
  if (begun.current === undefined && Number.isFinite(nowMs)) begun.current = nowMs
  const quiet = enrolled
    .filter(({ agent }) => {
      if (listening.some(({ id }) => id === agent.id)) return false
      const last = activity.findLast((record) => concerns(record, agent.id) && record.actor.kind === 'agent')
      return nowMs - Math.max(begun.current ?? nowMs, Date.parse(last?.at ?? '') || 0) > quietMs
    })
    .map(({ agent: { id, name } }) => ({ name, profile: profiles.get(id) }))
  useEffect(() => {
    if (!isListening || live.isStale.value) return
    setListened(true)
    // The cards fold, so none of them drops its prompt any longer.
    for (const { agent } of enrolled) drop(agent.id)
    reached()
    // Reading a conversation is not part of the first load. Without its file, the project still opens.
    import('./hello.tsx').then(
      (all) => setHello(() => all.Hello),
      () => undefined,
    )
  }, [isListening])
  return (
    <>
      <Heading title="Prompts">
        {hasListened
          ? enrolled.length === 1
            ? 'Talk with your agent'
            : 'Let your agents talk'
          : enrolled.length === 1
            ? 'Give the agent its prompt'
            : 'Give each agent its prompt'}
      </Heading>
      {hasListened ? (
        <ul class="progress">
          {enrolled.map(({ agent: { id, name } }) => (
            <Here key={id} name={name} seen={agents.find((each) => each.id === id)} live={live} />
          ))}
        </ul>
      ) : (
        <p>
          Paste each prompt into Claude Code, Codex or another coding agent, each in its own terminal. The
          agent installs the client, proves itself with the code, and listens. A code works once, and is shown
          only here.
        </p>
      )}
      <Silence live={live} />
      {!hasListened && (
        <div class="prompts">
          {enrolled.map((each) => (
            <Prompt
              key={each.agent.id}
              enrolled={each}
              seen={agents.find(({ id }) => id === each.agent.id)}
              records={activity.filter((record) => concerns(record, each.agent.id))}
              nowMs={nowMs}
              isStale={live.isStale.value}
              drop={() => drop(each.agent.id)}
            />
          ))}
        </div>
      )}
      {!(hasListened && quiet.length === 0) && <Help quiet={quiet} />}
      {Hello !== undefined && hasListened && (
        <Hello
          project={project.id}
          live={live}
          agents={enrolled.map(({ agent }) => agent)}
          answered={() => setAnswered(true)}
        />
      )}
      <p class="actions">
        <a class={isAnswered ? 'button' : 'button quiet'} href={`/projects/${project.id}`}>
          {isAnswered ? 'That was it: open the project' : 'Open the project'}
        </a>
      </p>
    </>
  )
}

/** Returns the profile that a prompt names, as a text of its own: a piece would keep the whole prompt in memory. */
function profileOf(prompt = ''): string | undefined {
  const [, name] = /--profile (\S+)/.exec(prompt) ?? []
  return name && Array.from(name).join('')
}

interface HereProps {
  readonly name: string
  readonly seen: SnapshotAgent | undefined
  readonly live: LiveProject
}

/** The card of an agent that has used its prompt, as one line. */
function Here({ name, seen, live }: HereProps) {
  if (seen === undefined) return null
  const { mark, summary } = presence(seen.connection, live.nodeNow.value, live.isStale.value)
  return (
    <li>
      <Mark name={mark} /> <Visible text={name} />: {summary}
    </li>
  )
}
