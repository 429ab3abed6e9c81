/** One agent: presence, instructions, enrolment, credentials, takeover, recipient key, profile, pairs. */
import { connectionLabels, type Agent as Data } from '../../../../sdk/browser.ts'
import { type LiveProject, useLiveProject } from '../live/project.ts'
import { owner } from '../owner.ts'
import { useAnchor } from '../parts/anchor.ts'
import { Heading } from '../parts/heading.tsx'
import { Mark } from '../parts/marks.tsx'
import { Refusal } from '../parts/refusal.tsx'
import { Refused } from '../parts/refused.tsx'
import { useParams } from '../parts/router.tsx'
import { Silence } from '../parts/silence.tsx'
import { useOne, useWhole } from '../parts/whole.ts'
import { Visible } from '../text/visible.tsx'
import { presence } from '../words/connection.ts'
import { Credentials } from './agent/credentials.tsx'
import { Enrolment } from './agent/enrolment.tsx'
import { Instructions } from './agent/instructions.tsx'
import { PairsOfAgent } from './agent/pairs.tsx'
import { Presence } from './agent/presence.tsx'
import { Profile } from './agent/profile.tsx'
import { RecipientKey } from './agent/recipient-key.tsx'
import { useSession } from './agent/session.ts'
import { StateButton } from './agent/state-button.tsx'
import { Takeover } from './agent/takeover.tsx'
import { isLive } from './agents/binding.ts'

const sections = [
  ['presence', 'Presence'],
  ['instructions', 'Instructions'],
  ['enrolment', 'Enrolment'],
  ['credentials', 'Credentials'],
  ['takeover', 'Takeover'],
  ['recipient-key', 'Recipient key'],
  ['profile', 'Profile'],
  ['pairs', 'Pairs'],
] as const

export function Agent() {
  const { id = '', agent = '' } = useParams()
  const live = useLiveProject(id)
  const read = useOne(`agent ${agent}`, (options) => owner.agents.get(id, agent, options), {
    live,
    kinds: ['agent.', 'recipient_key.', 'environment.', 'session.'],
  })
  const data = read.items.value?.[0]?.value
  return (
    <>
      <p>
        <a href={`/projects/${id}/agents`}>‹ Agents</a>
      </p>
      {data === undefined && <Refused title="Agent" error={read.error.value} />}
      {data?.id === agent && (
        <Page
          key={agent}
          project={id}
          agent={data}
          live={live}
          refresh={read.refresh}
          error={read.error.value}
        />
      )}
    </>
  )
}

interface Props {
  readonly project: string
  readonly agent: Data
  readonly live: LiveProject
  readonly refresh: () => Promise<void>
  /** Failure of the last read. The screen then shows older data. */
  readonly error: unknown
}

function Page({ project, agent, live, refresh, error }: Props) {
  const { id } = agent
  const about = { project, agent, live }
  const session = useSession(about)
  const seen = live.snapshot.value?.agents.find((each) => each.id === id)
  const environments = useWhole(
    `environments ${project}`,
    (options) => owner.environments.all(project, options),
    { live, kinds: ['environment.'] },
  )
  const credentials = useWhole(
    `credentials ${id}`,
    (options) => owner.credentials.all(project, { ...options, agentId: id, order: 'newest_first' }),
    { live, kinds: ['credential.', 'enrollment.claimed', 'session.started'] },
  )
  useAnchor()
  const words = presence(seen?.connection ?? agent.connection, live.nodeNow.value, live.isStale.value)
  const hasCredential = credentials.items.value?.some((each) => isLive(each, live.nodeNow.value)) ?? false
  return (
    <>
      <div class="head">
        <Heading title="Agent">
          <Visible text={agent.name} />
        </Heading>
        <StateButton project={project} agent={agent} refresh={refresh} />
      </div>
      <p class="inline-facts">
        {agent.state === 'disabled' ? (
          <strong>
            <Mark name="disabled" /> disabled
          </strong>
        ) : (
          <span>
            <Mark name={words.mark} /> {words.summary}
          </span>
        )}
        <span class="meta">
          {connectionLabels.last_contact} {words.lastContact}
        </span>
        {agent.role_name !== '' && (
          <span class="meta">
            <Visible text={agent.role_name} />
          </span>
        )}
      </p>
      <Silence live={live} />
      <Refusal error={error} />
      <nav class="anchors" aria-label="Sections of the agent">
        {sections.map(([anchor, name]) => (
          <a key={anchor} href={`#${anchor}`}>
            {name}
          </a>
        ))}
        <a href={`/projects/${project}/conversations?agent=${id}`}>Its conversations</a>
        <a href={`/projects/${project}/tasks?agent=${id}`}>Its tasks</a>
        <a href={`/projects/${project}/audit?actor=${id}`}>Its audit</a>
      </nav>
      <Presence {...about} seen={seen} session={session} />
      <Instructions {...about} />
      <Enrolment {...about} seen={seen} hasCredential={hasCredential} />
      <Credentials {...about} credentials={credentials} />
      <Takeover {...about} session={session} />
      <RecipientKey {...about} refresh={refresh} />
      <Profile {...about} environments={environments.items.value ?? []} refresh={refresh} />
      <PairsOfAgent {...about} />
    </>
  )
}
