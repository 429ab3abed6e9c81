/** Agents with the five words of presence, and the counts made of them. */
import {
  type AuditRecord,
  connectionLabels as labels,
  type SnapshotAgent,
} from '../../../../../sdk/browser.ts'
import type { LiveProject } from '../../live/project.ts'
import { AgentName } from '../../parts/agent-name.tsx'
import { Columns } from '../../parts/columns.tsx'
import { Mark } from '../../parts/marks.tsx'
import { Visible } from '../../text/visible.tsx'
import { presence } from '../../words/connection.ts'

interface Props {
  readonly project: string
  readonly live: LiveProject
}

const columns = [
  'Agent',
  labels.connected,
  labels.listening_now,
  labels.last_contact,
  labels.next_contact,
  'Waiting',
] as const

export function Agents({ project, live }: Props) {
  const { agents = [], counts } = live.snapshot.value ?? {}
  const isStale = live.isStale.value
  const enabled = agents.filter(({ state }) => state === 'enabled')
  const disabled = agents.filter(({ state }) => state === 'disabled')
  return (
    <section aria-labelledby="agents">
      <h2 id="agents">Agents</h2>
      <p class="meta">
        {enabled.length} enabled ·{' '}
        {isStale
          ? `connections ${labels.unavailable}`
          : `${counts?.connected} connected · ${counts?.listening_now} listening now · ${counts?.overdue} overdue`}
      </p>
      <table class="stacked">
        <Columns names={columns} />
        <tbody>
          {enabled.map((agent) => (
            <Row
              key={agent.id}
              project={project}
              agent={agent}
              nowMs={live.nodeNow.value}
              isStale={isStale}
            />
          ))}
        </tbody>
      </table>
      <NeverHere project={project} agents={enabled} records={live.snapshot.value?.activity ?? []} />
      {disabled.length > 0 && (
        <details>
          <summary>
            <Mark name="disabled" /> {disabled.length} disabled
          </summary>
          <ul>
            {disabled.map(({ id, name }) => (
              <li key={id}>
                <a href={`/projects/${project}/agents/${id}`}>
                  <Visible text={name} />
                </a>
              </li>
            ))}
          </ul>
        </details>
      )}
    </section>
  )
}

const shownNever = 5

interface NeverHereProps {
  readonly project: string
  readonly agents: readonly SnapshotAgent[]
  readonly records: readonly AuditRecord[]
}

/** Agents that never contacted the node, each with the way to its prompt. An agent that has enrolled needs none. */
function NeverHere({ project, agents, records }: NeverHereProps) {
  const hasEnrolled = (id: string) =>
    records.some(({ kind, actor }) => kind === 'enrollment.claimed' && actor.id === id)
  const never = agents.filter(({ connection }) => connection.last_contact_at === null)
  if (never.length === 0) return null
  return (
    <ul class="never">
      {never.slice(0, shownNever).map(({ id, name }) => (
        <li key={id}>
          <Visible text={name} />{' '}
          {hasEnrolled(id) ? (
            <>has enrolled, and starts with its first session.</>
          ) : (
            <>
              has never been here.{' '}
              <a href={`/projects/${project}/agents/${id}#enrolment`}>Give it its prompt</a>
            </>
          )}
        </li>
      ))}
      {never.length > shownNever && (
        <li class="meta">{never.length - shownNever} more agents have never been here.</li>
      )}
    </ul>
  )
}

interface RowProps {
  readonly project: string
  readonly agent: SnapshotAgent
  readonly nowMs: number
  readonly isStale: boolean
}

function Row({ project, agent, nowMs, isStale }: RowProps) {
  const { connection, waiting } = agent
  const words = presence(connection, nowMs, isStale)
  return (
    <tr>
      <th scope="row">
        <Mark name={words.mark} /> <AgentName project={project} agent={agent} />
      </th>
      <td data-label={labels.connected}>{words.connected}</td>
      <td data-label={labels.listening_now}>{words.listening}</td>
      <td data-label={labels.last_contact}>{words.lastContact}</td>
      <td data-label={labels.next_contact}>{words.nextContact}</td>
      <td data-label="Waiting">{waiting}</td>
    </tr>
  )
}
