/** From nothing to two agents that talk: project, agents, prompts, a first message. Each step can be done with Tab and Enter. */
import { useState } from 'preact/hooks'
import type { Agent, Project } from '../../../../sdk/browser.ts'
import { owner } from '../owner.ts'
import { issuedOf, withoutPrompt } from '../parts/agent-prompt.tsx'
import { Field } from '../parts/field.tsx'
import { Heading } from '../parts/heading.tsx'
import { Refusal } from '../parts/refusal.tsx'
import { useSubmitting } from '../parts/submitting.ts'
import { Visible } from '../text/visible.tsx'
import { faultsOf } from '../words/refusals.ts'
import type { Enrolled } from './first-run/enrolled.ts'
import { Prompts } from './first-run/prompts.tsx'

const steps = ['You', 'Project', 'Agents', 'Paste', 'Talk'] as const

interface Props {
  /** True if the node has no project yet. */
  readonly isFirst: boolean
  /** Project that gets more agents. Without it, the first step makes one. */
  readonly into?: Project | undefined
}

export function FirstRun({ isFirst, into }: Props) {
  const [project, setProject] = useState(into)
  const [enrolled, setEnrolled] = useState<readonly Enrolled[]>()
  const drop = (agent: string) =>
    setEnrolled((all) =>
      all?.map((each) => (each.agent.id === agent ? { ...each, issued: withoutPrompt(each.issued) } : each)),
    )
  const [isTalking, setTalking] = useState(false)
  const at = project === undefined ? 1 : enrolled === undefined ? 2 : isTalking ? 4 : 3
  return (
    <div class="first">
      <ol class="steps" aria-label="Steps">
        {steps.map((name, index) => (
          <li key={name} aria-current={index === at ? 'step' : undefined}>
            {index < at ? '✓ ' : ''}
            {name}
          </li>
        ))}
      </ol>
      {project === undefined && <NewProject isFirst={isFirst} done={setProject} />}
      {project !== undefined && enrolled === undefined && (
        <NewAgents project={project} isMore={into !== undefined} done={setEnrolled} />
      )}
      {project !== undefined && enrolled !== undefined && (
        <Prompts project={project} enrolled={enrolled} drop={drop} reached={() => setTalking(true)} />
      )}
    </div>
  )
}

interface NewProjectProps {
  readonly isFirst: boolean
  readonly done: (project: Project) => void
}

function NewProject({ isFirst, done }: NewProjectProps) {
  const [name, setName] = useState(isFirst ? 'demo' : '')
  const { isBusy, error, submit } = useSubmitting(async () =>
    done(await owner.projects.create({ name: name.trim() })),
  )
  const fault = faultsOf(error).name
  return (
    <form onSubmit={submit}>
      <Heading title="New project">{isFirst ? 'Make your first project' : 'New project'}</Heading>
      <p>Agents of one project can talk with each other, and with no others.</p>
      <Field
        label="Name of the project"
        required
        maxLength={80}
        value={name}
        change={setName}
        fault={fault}
        hasFocus
      />
      {fault === undefined && <Refusal error={error} />}
      <button type="submit" disabled={isBusy}>
        Make the project
      </button>
    </form>
  )
}

interface NewAgentsProps {
  readonly project: Project
  readonly isMore: boolean
  readonly done: (enrolled: readonly Enrolled[]) => void
}

function NewAgents({ project, isMore, done }: NewAgentsProps) {
  const [first, setFirst] = useState(isMore ? '' : 'ada')
  const [second, setSecond] = useState(isMore ? '' : 'ben')
  // Agents that an earlier try created. A second try must not create them again.
  const [made] = useState(() => new Map<string, Agent>())
  // Field of the agent that is created now, or that the node refused.
  const [at, setAt] = useState(0)
  const [isTwice, setTwice] = useState(false)
  const { isBusy, error, submit } = useSubmitting(async () => {
    const names = [first.trim(), second.trim()]
    const isSame = names[0] !== '' && names[0] === names[1]
    setTwice(isSame)
    if (isSame) return
    const all: Enrolled[] = []
    for (const [index, name] of names.entries()) {
      if (index > 0 && name === '') continue
      setAt(index)
      const agent = made.get(name) ?? (await owner.agents.create(project.id, { name })).agent
      made.set(name, agent)
      all.push({ agent, issued: issuedOf(await owner.enrollments.create(project.id, agent.id)) })
    }
    done(all)
  })
  const fault = faultsOf(error).name
  return (
    <form onSubmit={submit}>
      <Heading title="New agents">
        {isMore ? (
          <>
            Add agents to <Visible text={project.name} />
          </>
        ) : (
          'Name two agents'
        )}
      </Heading>
      <p>Each is one coding agent in one terminal: Claude Code, Codex, or another.</p>
      <Field
        label="First agent"
        required
        maxLength={80}
        value={first}
        change={setFirst}
        fault={at === 0 ? fault : undefined}
        hasFocus
      />
      <Field
        label="Second agent"
        maxLength={80}
        value={second}
        change={setSecond}
        hint="May stay empty"
        fault={isTwice ? 'Two agents need two names.' : at === 1 ? fault : undefined}
      />
      {fault === undefined && <Refusal error={error} />}
      <button type="submit" disabled={isBusy}>
        {isBusy ? 'Making prompts…' : 'Make their prompts'}
      </button>
    </form>
  )
}
