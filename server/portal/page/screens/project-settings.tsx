/** Settings of a project: its name, description and policy, its state, and its deletion. */
import type { Project, ProjectState } from '../../../../sdk/browser.ts'
import { useLiveProject } from '../live/project.ts'
import { owner, session } from '../owner.ts'
import { ActButton } from '../parts/dialog.tsx'
import { Heading } from '../parts/heading.tsx'
import { useOwnRoute } from '../parts/own-route.ts'
import { Refused } from '../parts/refused.tsx'
import { useParams } from '../parts/router.tsx'
import { Section } from '../parts/section.tsx'
import { act, note } from '../parts/toast.tsx'
import { Visible } from '../text/visible.tsx'
import { ProjectProfile } from './project/profile.tsx'

export function ProjectSettings() {
  const { id = '' } = useParams()
  const live = useLiveProject(id)
  const project = live.snapshot.value?.project
  if (project === undefined) return <Refused title="Project" error={live.error.value} />
  return (
    <>
      <p>
        <a href={`/projects/${id}`}>‹ Overview</a>
      </p>
      <Heading title="Project">
        Project <Visible text={project.name} />
      </Heading>
      <ProjectProfile key={id} project={project} refresh={live.refresh} />
      <State project={project} refresh={live.refresh} />
      {session.value?.user.role === 'owner' && <Deletion project={project} />}
    </>
  )
}

interface Props {
  readonly project: Project
  readonly refresh: () => Promise<void>
}

const meanings: Readonly<Record<ProjectState, string>> = {
  active: 'Active: its agents may do everything.',
  paused: 'Paused: agents read, acknowledge, finish their work and write to you. They start nothing new.',
  archived: 'Archived: agents can do nothing, and people can read. It comes back paused.',
}

function State({ project: { id, state }, refresh }: Props) {
  const set = async (to: ProjectState) => {
    await owner.projects.setState(id, to)
    await refresh()
  }
  const change = (to: ProjectState, words: string) =>
    act(async () => {
      await set(to)
      note(words, () => set(state))
    })
  return (
    <Section id="state" title="State">
      <p>{meanings[state]}</p>
      <p class="actions">
        {state === 'active' && (
          <button type="button" class="quiet" onClick={() => change('paused', 'The project is paused.')}>
            Pause
          </button>
        )}
        {state === 'paused' && (
          <button type="button" class="quiet" onClick={() => change('active', 'The project is active.')}>
            Resume
          </button>
        )}
        {state === 'archived' ? (
          <button
            type="button"
            class="quiet"
            onClick={() => change('paused', 'The project is back, paused.')}
          >
            Bring it back, paused
          </button>
        ) : (
          <ActButton
            label="Archive…"
            title="Archive the project?"
            verb="Archive the project"
            busy="Archiving…"
            act={() => set('archived')}
          >
            <p>Its agents can then do nothing, and you can only read. You can bring it back.</p>
          </ActButton>
        )}
      </p>
    </Section>
  )
}

function Deletion({ project: { id, name } }: { readonly project: Project }) {
  const route = useOwnRoute()
  return (
    <Section id="delete" title="Delete">
      <p>Deletes the project with its agents, conversations, tasks, files and audit. It cannot be undone.</p>
      <p class="actions">
        <ActButton
          label="Delete…"
          title="Delete the project for good?"
          verb="Delete the project"
          busy="Deleting…"
          name={name}
          isFresh
          act={async () => {
            await owner.projects.delete(id, name)
            route('/')
            note('The project is deleted.')
          }}
        >
          <p>
            Its agents, conversations, tasks, files and audit are gone at once. Nobody can bring them back.
          </p>
        </ActButton>
      </p>
    </Section>
  )
}
