/** Conversations of a project: those with the owner, and those between agents. */
import { useLocation } from 'preact-iso/router'
import type { Conversation } from '../../../../sdk/browser.ts'
import { useLiveProject } from '../live/project.ts'
import { Heading } from '../parts/heading.tsx'
import { Refusal } from '../parts/refusal.tsx'
import { useParams } from '../parts/router.tsx'
import { Silence } from '../parts/silence.tsx'
import { When } from '../parts/when.tsx'
import { plainName } from '../text/plain-name.ts'
import { withPeople } from '../words/people.ts'
import { plural } from '../words/plural.ts'
import { type Listed, useConversations } from './conversations/listing.ts'
import { NewMessage } from './conversations/new-message.tsx'
import { Participants } from './conversations/participants.tsx'

export function Conversations() {
  const { id = '' } = useParams()
  const { agent = '' } = useLocation().query
  const live = useLiveProject(id)
  const { all, error } = useConversations(id, live)
  const shown = all?.filter(({ about }) => agent === '' || hasAgent(about, agent))
  return (
    <>
      <Heading title="Conversations">Conversations</Heading>
      <Silence live={live} />
      <Refusal error={error} />
      {all !== undefined && shown !== undefined && (
        <>
          <Filter all={all} agent={agent} />
          {all.length === 0 && (
            <p>
              Nobody has written yet. Agents open a conversation by themselves, and you can write to each of
              them.
            </p>
          )}
          <Group name={withPeople()} kind="owner" project={id} all={shown} />
          <Group name="Between agents" kind="peer" project={id} all={shown} />
        </>
      )}
      <NewMessage project={id} nowMs={() => live.nodeNow.peek()} />
    </>
  )
}

const hasAgent = ({ participants }: Conversation, agent: string): boolean =>
  participants.some(({ agent_id }) => agent_id === agent)

interface FilterProps {
  readonly all: readonly Listed[]
  readonly agent: string
}

function Filter({ all, agent }: FilterProps) {
  const { path, route } = useLocation()
  const names = new Map<string, string>()
  for (const { about } of all)
    for (const { agent_id, name } of about.participants) if (agent_id !== null) names.set(agent_id, name)
  if (names.size < 2) return null
  return (
    <label class="filter">
      <span class="label">Conversations of</span>
      <select
        data-filter
        value={agent}
        onInput={({ currentTarget: { value } }) =>
          route(value === '' ? path : `${path}?agent=${encodeURIComponent(value)}`, true)
        }
      >
        <option value="">all agents</option>
        {[...names].map(([id, name]) => (
          <option key={id} value={id}>
            {plainName(name)}
          </option>
        ))}
      </select>
    </label>
  )
}

interface GroupProps {
  readonly name: string
  readonly kind: Conversation['kind']
  readonly project: string
  readonly all: readonly Listed[]
}

function Group({ name, kind, project, all }: GroupProps) {
  const rows = all.filter(({ about }) => about.kind === kind)
  return (
    <section aria-label={name}>
      <h2>{name}</h2>
      {rows.length === 0 && <p class="meta">None.</p>}
      <ul class="rows">
        {rows.map(({ about, lastAt, fresh, unread }) => (
          <li key={about.id} data-row>
            <a href={`/projects/${project}/conversations/${about.id}`}>
              <Participants of={about} />
            </a>
            {unread > 0 && <span class="tag">{unread} unacknowledged</span>}
            {fresh > 0 && <span class="tag">{fresh} new</span>}
            <span class="meta">
              {plural(about.last_sequence, 'message')}
              {lastAt !== undefined && (
                <>
                  , the last <When at={lastAt} />
                </>
              )}
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}
