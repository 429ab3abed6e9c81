/** Presence of the agents of a conversation. */
import type { LiveProject } from '../../live/project.ts'
import { Mark } from '../../parts/marks.tsx'
import { Visible } from '../../text/visible.tsx'
import { presence } from '../../words/connection.ts'

interface Props {
  readonly project: string
  readonly live: LiveProject
  readonly agents: readonly { readonly id: string }[]
}

export function Sides({ project, live, agents }: Props) {
  const { agents: seen = [] } = live.snapshot.value ?? {}
  return (
    <ul class="sides">
      {seen
        .filter((each) => agents.some(({ id }) => id === each.id))
        .map(({ id, name, connection, state }) => {
          const words = presence(connection, live.nodeNow.value, live.isStale.value)
          const isDisabled = state === 'disabled'
          return (
            <li key={id}>
              <Mark name={isDisabled ? 'disabled' : words.mark} />{' '}
              <a href={`/projects/${project}/agents/${id}`}>
                <Visible text={name} />
              </a>{' '}
              <span class="meta">{isDisabled ? 'disabled' : words.summary}</span>
            </li>
          )
        })}
    </ul>
  )
}
