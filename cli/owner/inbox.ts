/** Finds unacknowledged messages to the owner by their ids. Contract §10. */
import type { Owner, OwnerInboxMessage, Project } from '../../sdk/index.ts'
import { findProject, type ProjectOption } from './names.ts'

interface Abortable {
  readonly signal: AbortSignal
}

/** Returns the message, or undefined if it is unknown or acknowledged. */
export async function findUnacknowledged(
  owner: Owner,
  id: string,
  { signal }: Abortable,
): Promise<OwnerInboxMessage | undefined> {
  const { messages } = await owner.inbox.list({ after: before(id), limit: 1, signal })
  return messages.find((message) => message.id === id)
}

/** The id directly before this one, so that a list after it begins with this id. */
function before(id: string): string {
  const number = BigInt(`0x${id.replaceAll('-', '')}`)
  const hex = (number > 0n ? number - 1n : 0n).toString(16).padStart(32, '0')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

/** Finds the project of these messages, or the one that the option or {@link findProject} chooses. */
export async function projectOf(
  owner: Owner,
  ids: readonly string[],
  { project }: ProjectOption,
  context: Abortable,
): Promise<Pick<Project, 'id'>> {
  if (project === undefined) {
    const [first = ''] = ids
    const found = await findUnacknowledged(owner, first, context)
    if (found !== undefined) return { id: found.conversation.project_id }
  }
  return findProject(owner, project, context)
}

/** Returns a function that maps the id of each project to its name. */
export async function projectNames(owner: Owner, { signal }: Abortable): Promise<(id: string) => string> {
  const found = new Map<string, string>()
  for await (const { id, name } of owner.projects.all({ signal })) found.set(id, name)
  return (id) => found.get(id) ?? id
}
