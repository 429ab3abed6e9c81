/** State of all projects of a signed-in user, with the open questions to the owner. Contract §10. */

import type { Owner, OwnerInboxMessage, Project, ProjectSnapshot } from '../../sdk/index.ts'
import { oneLine, startOf } from '../../sdk/plain-text.ts'
import { relative } from '../terminal/words.ts'
import { snapshotText, type Wording } from './snapshot-text.ts'

interface Bounded {
  readonly signal: AbortSignal
}

export interface Overview {
  readonly projects: readonly ProjectSnapshot[]
  readonly has_more_projects: boolean
  /** Unacknowledged questions to the owner, oldest first. */
  readonly questions: readonly OwnerInboxMessage[]
  readonly has_more_questions: boolean
}

const mostProjects = 20
const mostQuestions = 20
/** Messages of other types stand between the questions. */
const mostMessages = 1000
const lineChars = 120

/** Returns the projects that are not archived. */
export async function currentProjects(owner: Owner, { signal }: Bounded): Promise<Project[]> {
  const current: Project[] = []
  for await (const project of owner.projects.all({ signal }))
    if (project.state !== 'archived') current.push(project)
  return current
}

/** Reads the state of these projects, of at most 20, and at most 20 questions. */
export async function overview(
  owner: Owner,
  projects: readonly Project[],
  { signal }: Bounded,
): Promise<Overview> {
  const snapshots: ProjectSnapshot[] = []
  for (const { id } of projects.slice(0, mostProjects))
    snapshots.push(await owner.projects.snapshot(id, { signal }))
  const questions: OwnerInboxMessage[] = []
  let read = 0
  let hasMore = false
  for await (const message of owner.inbox.all({ signal })) {
    read += 1
    hasMore = questions.length === mostQuestions || read > mostMessages
    if (hasMore) break
    if (message.type === 'question') questions.push(message)
  }
  return {
    projects: snapshots,
    has_more_projects: projects.length > mostProjects,
    questions,
    has_more_questions: hasMore,
  }
}

export function overviewText(
  { projects, questions, has_more_questions: more }: Overview,
  wording: Wording,
  now: Date,
): string {
  const names = new Map(projects.map(({ project: { id, name } }) => [id, name]))
  const lines = questions.map((question) => {
    const { id, body, created_at: at, sender, conversation } = question
    const project = names.get(conversation.project_id) ?? conversation.project_id
    const [first = ''] = body.trimStart().split('\n')
    const head = `${sender.name} in ${project}, ${relative(at, now)}, message ${id}`
    return `  ${oneLine(head)}\n  | ${cut(oneLine(first))}`
  })
  const sections = [
    lines.length === 0 ? 'no open questions to you' : ['questions to you:', ...lines].join('\n'),
    ...(more ? ['there are more messages to you: bridge admin inbox lists them'] : []),
    ...projects.map((snapshot) => snapshotText(snapshot, wording, now)),
  ]
  return sections.join('\n\n')
}

const cut = (text: string): string => (text.length > lineChars ? `${startOf(text, lineChars)} …` : text)
