/**
 * Finds the object that `<project>`, `<agent>` or `<environment>` names, and the project if none is named.
 *
 * Each is a name or an id. Names must match exactly. Text in the form of an id is always taken as an id.
 */
import type { Conversation, Owner, Project } from '../../sdk/index.ts'
import type { Command } from '../command.ts'
import { CommandError } from '../exit-codes.ts'
import type { SeenIds } from '../ids/seen.ts'
import { isRefusal } from './client.ts'

export interface ProjectOption {
  readonly project?: string | undefined
}

/** `--project`, on every command that concerns one. */
export const withProject = (to: Command): Command =>
  to.option('--project <project>', 'name or id of the project; optional if there is only one')

interface Abortable {
  readonly signal: AbortSignal
}

/**
 * Finds a project. If `wanted` is undefined, returns the only project that is not archived. @throws
 * CommandError
 */
export async function findProject(
  owner: Owner,
  wanted: string | undefined,
  { signal }: Abortable,
): Promise<Project> {
  const all = await gathered(owner.projects.all({ signal }))
  if (wanted !== undefined) return pick('project', wanted, all)
  const current = all.filter(({ state }) => state !== 'archived')
  const [only] = current
  if (only !== undefined && current.length === 1) return only
  throw only === undefined
    ? new CommandError(
        'not_found',
        `there is no project${all.length === 0 ? ' yet' : ' that is not archived'}`,
        {
          hint: 'bridge admin project create demo creates one',
        },
      )
    : new CommandError('usage', `there is more than one project: ${names(current)}`, {
        hint: '--project chooses one',
      })
}

/** Finds the id of an agent. @throws CommandError */
export const findAgent = async (owner: Owner, project: Project, wanted: string, { signal }: Abortable) =>
  asId(wanted) ?? pick('agent', wanted, await gathered(owner.agents.all(project.id, { signal }))).id

/** Finds the id of an environment. @throws CommandError */
export const findEnvironment = async (
  owner: Owner,
  project: Project,
  wanted: string,
  { signal }: Abortable,
) =>
  asId(wanted) ??
  pick('environment', wanted, await gathered(owner.environments.all(project.id, { signal }))).id

/** Finds an administrator. @throws CommandError */
export const findAdministrator = async (owner: Owner, wanted: string, { signal }: Abortable) =>
  pick('administrator', wanted, await gathered(owner.administrators.all({ signal })))

interface ActorOptions extends Abortable {
  /** Undefined if only people act there. */
  readonly project: Project | undefined
  readonly ids: SeenIds
}

/** Finds the id of an agent of the project, of the caller, or of an administrator. @throws CommandError */
export async function findActor(
  owner: Owner,
  wanted: string,
  { project, ids, signal }: ActorOptions,
): Promise<string> {
  const id = asId(wanted)
  if (id !== undefined) return id
  const agents = project === undefined ? [] : await gathered(owner.agents.all(project.id, { signal }))
  const { user } = await owner.signIn.current({ signal })
  // Only the owner may list the others.
  const people = user.role === 'owner' ? await gathered(owner.administrators.all({ signal })) : []
  const found = [
    ...agents.map((each) => ({ ...each, kind: 'agent' as const })),
    ...[user, ...people].map((each) => ({ ...each, kind: 'administrator' as const })),
  ].filter(({ name }) => name === wanted)
  const [only] = found
  if (only === undefined)
    throw new CommandError('not_found', `no agent or person has the name ${wanted}`, {
      hint: 'bridge admin agent list and bridge admin administrator list list them',
    })
  if (found.length === 1) return only.id
  ids.add(found.map(({ kind, id, name }) => ({ kind, id, how: 'named', word: name })))
  const candidates = found.map(({ kind, id }) => `${kind} ${ids.short(kind, id)}`)
  throw new CommandError('usage', `more than one actor has the name ${wanted}: ${candidates.join(', ')}`, {
    hint: 'give the id, or its end',
  })
}

/** Finds a conversation by its id, or the owner's conversation with an agent. @throws CommandError */
export async function findConversation(
  owner: Owner,
  project: Project,
  wanted: string,
  { signal }: Abortable,
): Promise<Conversation> {
  const id = asId(wanted)
  if (id !== undefined) {
    const found = await unlessUnknown(() => owner.conversations.get(project.id, id, { signal }))
    if (found !== undefined) return found
  }
  for await (const conversation of owner.conversations.all(project.id, { signal })) {
    if (isOwnersWith(conversation, id ?? wanted)) return conversation
  }
  throw new CommandError(
    'not_found',
    `no conversation has the id ${wanted}, and the owner has none with such an agent`,
    {
      hint: 'bridge admin conversations lists them',
    },
  )
}

async function unlessUnknown<T>(ask: () => Promise<T>): Promise<T | undefined> {
  try {
    return await ask()
  } catch (error) {
    if (await isRefusal(error, 'not_found')) return undefined
    throw error
  }
}

const isOwnersWith = ({ kind, participants }: Conversation, wanted: string): boolean =>
  kind === 'owner' &&
  participants.some(({ agent_id, name }) => agent_id !== null && (agent_id === wanted || name === wanted))

/** Returns a function that maps the id of each agent of a project to its name. */
export async function agentNames(
  owner: Owner,
  project: Project,
  { signal }: Abortable,
): Promise<(id: string) => string> {
  const found = new Map<string, string>()
  for await (const { id, name } of owner.agents.all(project.id, { signal })) found.set(id, name)
  return (id) => found.get(id) ?? id
}

/** Reads a whole list into an array. */
export async function gathered<T>(all: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of all) found.push(item)
  return found
}

/** Returns the text in lower case if it has the form of an id. */
function asId(text: string): string | undefined {
  const lower = text.toLowerCase()
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(lower) ? lower : undefined
}

function pick<T extends { readonly id: string; readonly name: string }>(
  noun: string,
  wanted: string,
  all: readonly T[],
): T {
  const id = asId(wanted)
  const found = all.find((item) => (id === undefined ? item.name === wanted : item.id === id))
  if (found !== undefined) return found
  throw new CommandError('not_found', `no ${noun} has the ${id === undefined ? 'name' : 'id'} ${wanted}`, {
    hint: `bridge admin ${noun} list lists them`,
  })
}

const names = (all: readonly { readonly name: string }[]): string => {
  const shown = all.slice(0, 5).map(({ name }) => name)
  return all.length > shown.length
    ? `${shown.join(', ')} and ${all.length - shown.length} more`
    : shown.join(', ')
}
