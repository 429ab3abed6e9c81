/** Enabled agents as a table. On a narrow screen each row becomes a list of its own. */
import {
  type Agent,
  type Credential,
  type Environment,
  connectionLabels as labels,
} from '../../../../../sdk/browser.ts'
import type { LiveProject } from '../../live/project.ts'
import { AgentName } from '../../parts/agent-name.tsx'
import { Columns } from '../../parts/columns.tsx'
import { Mark } from '../../parts/marks.tsx'
import { Visible } from '../../text/visible.tsx'
import { presence } from '../../words/connection.ts'
import { bindingOf } from './binding.ts'

interface Props {
  readonly project: string
  readonly agents: readonly Agent[]
  /** Undefined until they are read. */
  readonly credentials: readonly Credential[] | undefined
  /** Undefined until they are read. */
  readonly environments: readonly Environment[] | undefined
  readonly live: LiveProject
}

const columns = ['Agent', 'Presence', labels.last_contact, 'Waiting', 'Credential', 'Environment'] as const

export function AgentTable({ project, agents, credentials, environments, live }: Props) {
  const seen = new Map(live.snapshot.value?.agents.map((each) => [each.id, each]))
  const nowMs = live.nodeNow.value
  return (
    <table class="stacked">
      <Columns names={columns} />
      <tbody>
        {agents.map(({ id, name, role_name, connection, environment_id }) => {
          const words = presence(seen.get(id)?.connection ?? connection, nowMs, live.isStale.value)
          const place = environments?.find((each) => each.id === environment_id)
          const isUnknown = environments === undefined && environment_id !== null
          return (
            <tr key={id}>
              <th scope="row">
                <AgentName project={project} agent={{ id, name, role_name }} />
              </th>
              <td data-label="Presence">
                <Mark name={words.mark} /> {words.summary}
              </td>
              <td data-label={labels.last_contact}>{words.lastContact}</td>
              <td data-label="Waiting">{seen.get(id)?.waiting ?? 'unknown'}</td>
              <td data-label="Credential">
                {credentials === undefined ? '' : bindingOf(credentials, id, nowMs)}
              </td>
              <td data-label="Environment">
                {place !== undefined ? <Visible text={place.name} /> : isUnknown ? '' : 'none'}
              </td>
            </tr>
          )
        })}
      </tbody>
    </table>
  )
}
