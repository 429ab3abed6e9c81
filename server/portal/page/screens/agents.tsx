/** All agents of a project: presence, what waits for them, how they prove themselves, and where they run. */
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import type { Environment } from '../../../../sdk/browser.ts'
import { useLiveProject } from '../live/project.ts'
import { owner } from '../owner.ts'
import { Choice } from '../parts/choice.tsx'
import { Heading } from '../parts/heading.tsx'
import { Mark } from '../parts/marks.tsx'
import { Refusal } from '../parts/refusal.tsx'
import { useParams } from '../parts/router.tsx'
import { Silence } from '../parts/silence.tsx'
import { useWhole } from '../parts/whole.ts'
import { plainName } from '../text/plain-name.ts'
import { Visible } from '../text/visible.tsx'
import { CreateAgent } from './agents/create.tsx'
import { AgentTable } from './agents/table.tsx'

export function Agents() {
  const { id = '' } = useParams()
  const { query, path, route } = useLocation()
  const live = useLiveProject(id)
  const [isNew, setNew] = useState(false)
  const agents = useWhole(`agents ${id}`, (options) => owner.agents.all(id, options), {
    live,
    kinds: ['agent.', 'environment.'],
  })
  const environments = useWhole(`environments ${id}`, (options) => owner.environments.all(id, options), {
    live,
    kinds: ['environment.'],
  })
  const credentials = useWhole(`credentials ${id}`, (options) => owner.credentials.all(id, options), {
    live,
    kinds: ['credential.', 'enrollment.'],
  })
  const all = agents.items.value
  const places = environments.items.value ?? []
  const chosen = query.environment ?? ''
  const shown = all?.filter((agent) => chosen === '' || (agent.environment_id ?? 'none') === chosen) ?? []
  const disabled = shown.filter(({ state }) => state === 'disabled')
  return (
    <>
      <div class="head">
        <Heading title="Agents">Agents</Heading>
        <button type="button" onClick={() => setNew(true)}>
          New agent
        </button>
      </div>
      {isNew && <CreateAgent project={id} environments={places} close={() => setNew(false)} />}
      <Silence live={live} />
      <Refusal error={agents.error.value ?? credentials.error.value ?? environments.error.value} />
      {places.length > 0 && all !== undefined && (
        <form class="filters">
          <Choice
            label="Environment"
            value={chosen}
            options={[['', `all (${all.length})`], ...places.map(withCount(all)), ['none', 'none']]}
            change={(to) => route(to === '' ? path : `${path}?environment=${to}`, true)}
          />
        </form>
      )}
      {all?.length === 0 && <p>No agent yet. Make the first one, then give it its prompt.</p>}
      {all !== undefined && all.length > 0 && shown.length === 0 && <p>No agent runs there.</p>}
      {shown.length > disabled.length && (
        <AgentTable
          project={id}
          agents={shown.filter(({ state }) => state === 'enabled')}
          credentials={credentials.items.value}
          environments={environments.items.value}
          live={live}
        />
      )}
      {disabled.length > 0 && (
        <details>
          <summary>
            <Mark name="disabled" /> {disabled.length} disabled
          </summary>
          <ul class="rows">
            {disabled.map((agent) => (
              <li key={agent.id}>
                <a href={`/projects/${id}/agents/${agent.id}`}>
                  <Visible text={agent.name} />
                </a>
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  )
}

const withCount =
  (agents: readonly { readonly environment_id: string | null }[]) =>
  ({ id, name, kind }: Environment) => {
    const count = agents.filter((agent) => agent.environment_id === id).length
    return [id, `${plainName(name)} (${kind}, ${count})`] as const
  }
