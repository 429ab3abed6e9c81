/** One administrator: the projects, a new link, and the act that disables. */
import { useState } from 'preact/hooks'
import type { Administrator, AdministratorLink, Project } from '../../../../../sdk/browser.ts'
import { owner } from '../../owner.ts'
import { ActButton } from '../../parts/dialog.tsx'
import { act, note } from '../../parts/toast.tsx'
import { When } from '../../parts/when.tsx'
import { plainName } from '../../text/plain-name.ts'
import { Visible } from '../../text/visible.tsx'

interface Props {
  readonly person: Administrator
  readonly projects: readonly Project[]
  readonly issued: (link: AdministratorLink) => Promise<void>
  readonly read: () => Promise<void>
}

export function Person({ person, projects, issued, read }: Props) {
  const { id, state, has_password, created_at } = person
  const name = plainName(person.name)
  const shown = <Visible text={person.name} />
  const set = async (to: 'enabled' | 'disabled') => {
    await owner.administrators.setState(id, to)
    note(
      <>
        {shown} {to === 'enabled' ? 'may sign in again.' : 'is disabled.'}
      </>,
    )
    await read()
  }
  return (
    <li class="card">
      <h2>
        {shown}
        {state === 'disabled' && <span class="tag">disabled</span>}
      </h2>
      <p class="meta">
        {has_password ? 'Signs in with a password' : 'Has no password yet: only a link signs in'} · made{' '}
        <When at={created_at} />
      </p>
      {state === 'enabled' && <Projects person={person} projects={projects} read={read} />}
      <p class="actions">
        {state === 'enabled' ? (
          <>
            <ActButton
              label="New link…"
              about={`New link for ${name}`}
              title={<>A new link for {shown}?</>}
              verb="Make the link"
              busy="Making…"
              isFresh
              act={async () => issued(await owner.administrators.link(id))}
            >
              <p>It replaces the link of before. Whoever opens it signs in as {shown}.</p>
            </ActButton>
            <ActButton
              label="Disable…"
              about={`Disable ${name}`}
              title={<>Disable {shown}?</>}
              verb={<>Disable {shown}</>}
              busy="Disabling…"
              isFresh
              act={() => set('disabled')}
            >
              <p>
                Every sign-in and link of {shown} ends at once. The projects stay assigned, and you can enable{' '}
                {shown} again.
              </p>
            </ActButton>
          </>
        ) : (
          <button
            type="button"
            class="quiet"
            aria-label={`Enable ${name}`}
            onClick={() => void act(() => set('enabled'))}
          >
            Enable
          </button>
        )}
      </p>
    </li>
  )
}

type ProjectsProps = Pick<Props, 'person' | 'projects' | 'read'>

function Projects({ person: { id, name, project_ids }, projects, read }: ProjectsProps) {
  const [isBusy, setBusy] = useState(false)
  const assign = async (box: HTMLInputElement, project: Project) => {
    const isWanted = box.checked
    // The box shows what the node says, so a refused or cancelled act changes nothing.
    box.checked = !isWanted
    const put = async (isAssigned: boolean) => {
      setBusy(true)
      try {
        await owner.administrators[isAssigned ? 'assign' : 'unassign'](id, project.id)
        await read()
      } finally {
        setBusy(false)
      }
    }
    await act(async () => {
      await put(isWanted)
      const verb = isWanted ? 'manages' : 'no longer manages'
      note(`${plainName(name)} ${verb} ${plainName(project.name)}.`, () => put(!isWanted))
    })
  }
  return (
    <fieldset disabled={isBusy}>
      <legend>
        Projects of <Visible text={name} />
      </legend>
      {projects.length === 0 && <p class="meta">There is no project yet.</p>}
      {projects.length > 0 && project_ids.length === 0 && (
        <p>
          <Visible text={name} /> sees no project. Tick the projects that <Visible text={name} /> may manage.
        </p>
      )}
      {projects.map((project) => (
        <label key={project.id} class="choice">
          <input
            type="checkbox"
            checked={project_ids.includes(project.id)}
            onChange={({ currentTarget }) => void assign(currentTarget, project)}
          />
          <Visible text={project.name} />
          {project.state !== 'active' && <span class="tag">{project.state}</span>}
        </label>
      ))}
    </fieldset>
  )
}
