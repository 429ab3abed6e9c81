/** Projects with what needs the owner. A node without a project shows the first run. */
import { useEffect, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import type { Project, ProjectSnapshot } from '../../../../sdk/browser.ts'
import { owner, session } from '../owner.ts'
import { Heading } from '../parts/heading.tsx'
import { Refused } from '../parts/refused.tsx'
import { plural } from '../words/plural.ts'
import { FirstRun } from './first-run.tsx'

export function Projects() {
  const { project: into, by } = useLocation().query
  const [projects, setProjects] = useState<readonly Project[]>()
  const [isNew, setNew] = useState(false)
  const [error, setError] = useState<unknown>(undefined)
  useEffect(() => {
    everyProject().then(setProjects, setError)
  }, [])
  const isOwner = session.value?.user.role === 'owner'
  if (error !== undefined) return <Refused title="Projects" error={error} />
  if (projects === undefined) return null
  const target = projects.find(({ id }) => id === into)
  if (target !== undefined) return <FirstRun isFirst={false} into={target} />
  if (isOwner && (isNew || projects.length === 0)) return <FirstRun isFirst={projects.length === 0} />
  return (
    <>
      <div class="head">
        <Heading title="Projects">Projects</Heading>
        {isOwner && (
          <button type="button" onClick={() => setNew(true)}>
            New project
          </button>
        )}
      </div>
      {by === 'link' && (
        <p class="meta">
          You signed in with a link, which works once. Password lost?{' '}
          <a href="/settings?by=link">Set a password</a>
        </p>
      )}
      {projects.length === 0 && <p>No project is assigned to you yet.</p>}
      <ul class="cards">
        {projects.map((project) => (
          <Card key={project.id} project={project} />
        ))}
      </ul>
    </>
  )
}

async function everyProject(): Promise<Project[]> {
  const all: Project[] = []
  for await (const project of owner.projects.all()) all.push(project)
  return all
}

function Card({ project: { id, name, state } }: { readonly project: Project }) {
  const [snapshot, setSnapshot] = useState<ProjectSnapshot>()
  useEffect(() => {
    // A card without its numbers still opens its project.
    owner.projects.snapshot(id).then(setSnapshot, () => undefined)
  }, [id])
  const { attention, counts } = snapshot ?? {}
  return (
    <li class="card">
      <h2>
        <a href={`/projects/${id}`}>
          <bdi>{name}</bdi>
        </a>
      </h2>
      {state !== 'active' && <p class="tag">{state}</p>}
      {attention !== undefined && (
        <p class={attention.length > 0 ? 'needs' : 'meta'}>
          {attention.length > 0 ? `${attention.length} need you` : 'Nothing needs you'}
        </p>
      )}
      {counts !== undefined && (
        <p class="meta">
          {plural(counts.agents, 'agent')}, {counts.listening_now} listening now ·{' '}
          {plural(counts.tasks.open + counts.tasks.claimed, 'task')} open
        </p>
      )}
    </li>
  )
}
