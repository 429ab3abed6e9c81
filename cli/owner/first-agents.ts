/**
 * The project and agents of `bridge up`: creates what is missing, and a prompt for each agent that has no
 * credential.
 *
 * Contract §4, §10.
 */
import type { Agent, Owner, Project } from '../../sdk/index.ts'
import { oneLine } from '../../sdk/plain-text.ts'
import type { CliContext } from '../context.ts'

export interface InvitedAgent {
  readonly id: string
  readonly name: string
  /** Absent for an agent that has a credential, or that must not enrol. */
  readonly prompt?: string
  /** Why an agent without a credential must not enrol now. */
  readonly refused?: 'agent_disabled' | 'project_archived'
  readonly expires_at?: string
}

export interface Invited {
  readonly project: { readonly id: string; readonly name: string }
  readonly agents: readonly InvitedAgent[]
}

interface Wanted {
  readonly project: string
  readonly agents: readonly string[]
  readonly signal: AbortSignal
}

export async function invite(owner: Owner, { project: name, agents, signal }: Wanted): Promise<Invited> {
  const project = await projectOf(owner, name, signal)
  const known = new Map<string, Agent>()
  for await (const agent of owner.agents.all(project.id, { signal })) known.set(agent.name, agent)
  const invited: InvitedAgent[] = []
  const isArchived = project.state === 'archived'
  for (const each of agents) {
    const agent = known.get(each) ?? (await owner.agents.create(project.id, { name: each }, { signal })).agent
    const { id } = agent
    if (await hasCredential(owner, project.id, id, signal)) {
      invited.push({ id, name: each })
      continue
    }
    if (isArchived || agent.state === 'disabled') {
      invited.push({ id, name: each, refused: isArchived ? 'project_archived' : 'agent_disabled' })
      continue
    }
    const { prompt, expires_at } = await owner.enrollments.create(
      project.id,
      id,
      { binding: 'key' },
      { signal },
    )
    invited.push({ id, name: each, prompt, expires_at })
  }
  return { project: { id: project.id, name: project.name }, agents: invited }
}

async function projectOf(owner: Owner, name: string, signal: AbortSignal): Promise<Project> {
  for await (const project of owner.projects.all({ signal })) if (project.name === name) return project
  return owner.projects.create({ name }, { signal })
}

async function hasCredential(owner: Owner, projectId: string, agentId: string, signal: AbortSignal) {
  for await (const credential of owner.credentials.all(projectId, { agentId, signal }))
    if (credential.revoked_at === null) return true
  return false
}

const rule = '-'.repeat(72)

export const invitedText = ({ project, agents }: Invited): string =>
  agents.map((agent) => agentText(agent, project.name)).join('\n\n')

function agentText({ name: agentName, prompt, refused }: InvitedAgent, projectName: string): string {
  const [name, project] = [oneLine(agentName), oneLine(projectName)]
  if (prompt !== undefined) return `Paste this to the agent ${name}:\n${rule}\n${prompt.trimEnd()}\n${rule}`
  if (refused === 'agent_disabled')
    return `${name} is disabled, so it gets no prompt; bridge admin agent state NAME enabled enables an agent`
  if (refused === 'project_archived')
    return `${name} gets no prompt, because ${project} is archived; bridge admin project state NAME paused takes a project out of the archive`
  return `${name} is enrolled in ${project}`
}

const lookMs = 2_000

/** Prints a line when an invited agent has enrolled, and when it listens. Ends when all listen. */
export async function reportArrivals(
  { output, signal }: Pick<CliContext, 'output' | 'signal'>,
  owner: Owner,
  { project, agents }: Invited,
): Promise<void> {
  const awaited = agents.filter(({ refused }) => refused === undefined)
  const stages = new Map(awaited.map(({ id, prompt }) => [id, prompt === undefined ? 'enrolled' : 'waiting']))
  const report = (id: string, name: string, stage: string, words: string) => {
    stages.set(id, stage)
    output.note(`${oneLine(name)} ${words}`)
  }
  while (!signal.aborted && [...stages.values()].some((stage) => stage !== 'listening')) {
    for (const { id, name } of awaited) {
      const { connection } = await owner.agents.get(project.id, id, { signal })
      if (connection.listening_now && stages.get(id) !== 'listening')
        report(id, name, 'listening', 'is listening now')
      else if (stages.get(id) === 'waiting' && (await hasCredential(owner, project.id, id, signal)))
        report(id, name, 'enrolled', 'has enrolled')
    }
    await pause(lookMs, signal)
  }
}

const pause = async (ms: number, signal: AbortSignal): Promise<void> => {
  const { setTimeout: sleep } = await import('node:timers/promises')
  await sleep(ms, undefined, { signal, ref: false }).catch(() => {
    // Aborted: the loop ends.
  })
}
