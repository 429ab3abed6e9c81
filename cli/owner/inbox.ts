/** Finds unacknowledged messages to the owner by their ids. Contract §10. */
import type { Owner, OwnerInboxMessage, Project } from '../../sdk/index.ts'
import type { CliContext } from '../context.ts'
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

/** The most ids of one request. */
const atOnce = 100

/** Acknowledges the messages to the owner whose bodies this profile has printed, of one project or of all. */
export async function acknowledgePrinted(
  owner: Owner,
  { project }: ProjectOption,
  context: Pick<CliContext, 'ids' | 'output' | 'signal'>,
): Promise<void> {
  const { ids, output, signal } = context
  const of = project === undefined ? undefined : await findProject(owner, project, context)
  const printed = new Set(ids.all('message').flatMap(({ id, how }) => (how === 'printed' ? [id] : [])))
  const waiting: OwnerInboxMessage[] = []
  for await (const message of owner.inbox.all({ projectId: of?.id, signal })) waiting.push(message)
  const chosen = waiting.filter(({ id }) => printed.has(id))
  const acknowledged: string[] = []
  const already: string[] = []
  for (const [projectId, messages] of Map.groupBy(chosen, ({ conversation }) => conversation.project_id)) {
    for (let at = 0; at < messages.length; at += atOnce) {
      const some = messages.slice(at, at + atOnce).map(({ id }) => id)
      const done = await owner.messages.acknowledge(projectId, some, { signal })
      acknowledged.push(...done.acknowledged)
      already.push(...done.already)
    }
  }
  output.result({ acknowledged, already }, `acknowledged ${acknowledged.length}`)
  const left = waiting.length - chosen.length
  if (left > 0) output.next(`${left} not printed yet: bridge admin inbox shows them`)
}
