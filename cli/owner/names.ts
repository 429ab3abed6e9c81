/**
 * `<project>`, `<agent>`, `<environment>`: a name or an id, and which project is meant when none is named.
 *
 * Names are looked up in the node's list and compared exactly; what looks like an id is one.
 */
import type { Conversation, Owner, Project } from '../../sdk/index.ts'
import type { Command } from '../command.ts'
import { CommandError } from '../exit-codes.ts'
import { isRefusal } from './client.ts'

export interface ProjectOption {
  readonly project?: string | undefined
}

/** `--project`, on every command that concerns one. */
export const withProject = (to: Command): Command =>
  to.option('--project <project>', 'name or id; may be left out while there is only one')

interface Asking {
  readonly signal: AbortSignal
}

/** Without a wish: the only project that is not archived. @throws CommandError */
export async function findProject(
  owner: Owner,
  wanted: string | undefined,
  { signal }: Asking,
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
          hint: 'bridge admin project create demo makes one',
        },
      )
    : new CommandError('usage', `which project? there are ${names(current)}`, {
        hint: '--project names one',
      })
}

/** The id of an agent. @throws CommandError */
export const findAgent = async (owner: Owner, project: Project, wanted: string, { signal }: Asking) =>
  asId(wanted) ?? pick('agent', wanted, await gathered(owner.agents.all(project.id, { signal }))).id

/** The id of an environment. @throws CommandError */
export const findEnvironment = async (owner: Owner, project: Project, wanted: string, { signal }: Asking) =>
  asId(wanted) ??
  pick('environment', wanted, await gathered(owner.environments.all(project.id, { signal }))).id

/** An administrator. @throws CommandError */
export const findAdministrator = async (owner: Owner, wanted: string, { signal }: Asking) =>
  pick('administrator', wanted, await gathered(owner.administrators.all({ signal })))

/** By its own id, or the owner conversation of an agent. @throws CommandError */
export async function findConversation(
  owner: Owner,
  project: Project,
  wanted: string,
  { signal }: Asking,
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
    `no conversation ${wanted}, neither by its id nor yours with an agent`,
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

/** Name of each agent of a project, by id. */
export async function agentNames(
  owner: Owner,
  project: Project,
  { signal }: Asking,
): Promise<(id: string) => string> {
  const found = new Map<string, string>()
  for await (const { id, name } of owner.agents.all(project.id, { signal })) found.set(id, name)
  return (id) => found.get(id) ?? id
}

/** A whole list. */
export async function gathered<T>(all: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const each of all) found.push(each)
  return found
}

/** An id in the form of the wire, when the text is one. */
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
  const found = all.find((each) => (id === undefined ? each.name === wanted : each.id === id))
  if (found !== undefined) return found
  throw new CommandError('not_found', `no ${noun} has the ${id === undefined ? 'name' : 'id'} ${wanted}`, {
    hint: `bridge admin ${noun} list shows them`,
  })
}

const names = (all: readonly { readonly name: string }[]): string => {
  const shown = all.slice(0, 5).map(({ name }) => name)
  return all.length > shown.length
    ? `${shown.join(', ')} and ${all.length - shown.length} more`
    : shown.join(', ')
}
