/** An agent's name as a link to its page, with its role. */
import { Visible } from '../text/visible.tsx'

interface Props {
  readonly project: string
  readonly agent: { readonly id: string; readonly name: string; readonly role_name: string }
}

export function AgentName({ project, agent: { id, name, role_name } }: Props) {
  return (
    <>
      <a href={`/projects/${project}/agents/${id}`}>
        <Visible text={name} />
      </a>
      {role_name !== '' && (
        <span class="meta">
          {' '}
          <Visible text={role_name} />
        </span>
      )}
    </>
  )
}
