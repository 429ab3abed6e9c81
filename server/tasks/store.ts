/**
 * SQL of tasks. Every query is restricted to the project and the participant. Hot queries are compiled once.
 */

import { isPairEnabled } from '../conversations/pairs.ts'
import { taskColumns } from '../database/columns.ts'
import { beforeAll } from '../database/page.ts'
import { prepared } from '../database/prepared.ts'
import { aside, beyond, inOrder } from '../database/sql.ts'
import type { Db } from '../database/tables.ts'
import type { Tx } from '../database/tx.ts'
import type { TaskReleaseRow, TaskRow } from '../database/work-tables.ts'
import { isFinal } from './rules.ts'

const insert = prepared<TaskRow>()((db, p) =>
  db.insertInto('tasks').values({
    id: p('id'),
    project_id: p('project_id'),
    conversation_id: p('conversation_id'),
    creator_kind: p('creator_kind'),
    creator_agent_id: p('creator_agent_id'),
    creator_name: p('creator_name'),
    assignee_agent_id: p('assignee_agent_id'),
    title: p('title'),
    state: p('state'),
    attempts: p('attempts'),
    max_attempts: p('max_attempts'),
    claim_ttl_seconds: p('claim_ttl_seconds'),
    due_at: p('due_at'),
    claim_generation: p('claim_generation'),
    created_at: p('created_at'),
    updated_at: p('updated_at'),
    instructions: p('instructions'),
  } as TaskRow),
)

export type NewTask = Pick<
  TaskRow,
  | 'project_id'
  | 'conversation_id'
  | 'creator_kind'
  | 'creator_agent_id'
  | 'creator_name'
  | 'assignee_agent_id'
  | 'title'
  | 'instructions'
  | 'max_attempts'
  | 'claim_ttl_seconds'
  | 'due_at'
>

/** Initial values of the other columns. */
const initialValues = {
  state: 'open',
  attempts: 0,
  claim_generation: 0,
  claim_own_ttl_seconds: null,
  claim_session_id: null,
  claim_session_generation: null,
  claimed_at: null,
  claim_ends_at: null,
  claim_end: null,
  cancel_requested_at: null,
  cancelled_by_kind: null,
  cancelled_by_agent_id: null,
  cancelled_by_name: null,
  cancel_reason: null,
  stop_confirmed_at: null,
  progress_note: null,
  progress_percent: null,
  progress_at: null,
  outcome_kind: null,
  outcome_at: null,
  outcome_result: null,
  outcome_evidence: null,
  ended: null,
} as const

const columnNames = [...(Object.keys(initialValues) as (keyof typeof initialValues)[]), 'updated_at'] as const

/** Returns the row of a new task, which is not stored. */
export const newTaskRow = (tx: Tx, task: NewTask): TaskRow => ({
  ...task,
  ...initialValues,
  id: tx.id(),
  created_at: tx.nowIso,
  updated_at: tx.nowIso,
})

export async function insertTask(tx: Tx, row: TaskRow): Promise<void> {
  await insert.run(tx.db, row)
}

/** The columns that may change after a task was created. */
export type TaskChange = Partial<Omit<TaskRow, keyof NewTask | 'id' | 'created_at' | 'updated_at' | 'ended'>>

const changing = (columns: readonly string[]) =>
  prepared<TaskRow>()((db, p) =>
    db
      .updateTable('tasks')
      .set(Object.fromEntries(columns.map((name) => [name, p(name as keyof TaskRow)])))
      .where('id', '=', p('id')),
  )

/**
 * Update statements by the columns that they set: SQLite rewrites an index only if one of its columns is set.
 */
const updates = new Map<string, ReturnType<typeof changing>>()

/** Updates the row and returns it. */
export async function changeTask(tx: Tx, task: TaskRow, change: TaskChange): Promise<TaskRow> {
  const row: TaskRow = { ...task, ...change, updated_at: tx.nowIso }
  row.ended = isFinal(row.state) ? row.state : null
  const columns = columnNames.filter((name) => row[name] !== task[name] || name === 'updated_at')
  const key = columns.join()
  const update = updates.get(key) ?? changing(columns)
  updates.set(key, update)
  await update.run(tx.db, row)
  return row
}

const find = prepared<{ id: string; project_id: string }>()((db, p) =>
  db
    .selectFrom('tasks')
    .select(taskColumns)
    .where('id', '=', p('id'))
    .where('project_id', '=', p('project_id')),
)

export const findInProject = (db: Db, projectId: string, id: string): Promise<TaskRow | undefined> =>
  find.first(db, { id, project_id: projectId })

/** Returns a task that the agent created or is assigned to. */
export async function findForAgent(
  db: Db,
  projectId: string,
  agentId: string,
  id: string,
): Promise<TaskRow | undefined> {
  const row = await findInProject(db, projectId, id)
  return row?.assignee_agent_id === agentId || row?.creator_agent_id === agentId ? row : undefined
}

/** Whether the pairing of the two agents is enabled. Tasks of the owner need no pairing. */
export async function isPairOpen(db: Db, task: TaskRow): Promise<boolean> {
  return task.creator_agent_id === null || isPairEnabled(db, task.creator_agent_id, task.assignee_agent_id)
}

const expired = prepared<{ now: string; limit: number }>()((db, p) =>
  db
    .selectFrom('tasks')
    .select(taskColumns)
    .where('claim_ends_at', 'is not', null)
    .where('claim_ends_at', '<=', p('now'))
    .orderBy('claim_ends_at')
    .limit(p('limit')),
)

/** Tasks whose claim has expired, oldest first. */
export const listExpired = (db: Db, steadyIso: string, limit: number): Promise<TaskRow[]> =>
  expired.all(db, { now: steadyIso, limit })

const expiredIn = prepared<{ project_id: string; now: string; limit: number }>()((db, p) =>
  db
    .selectFrom('tasks')
    .select(taskColumns)
    .where('claim_ends_at', 'is not', null)
    .where('claim_ends_at', '<=', p('now'))
    // Unary plus: expired claims are few and the tasks of a project many, so the index by the end of the
    // claim is used.
    .where(aside('project_id'), '=', p('project_id'))
    .orderBy('claim_ends_at')
    .limit(p('limit')),
)

/** Tasks of one project whose claim has expired. */
export const listExpiredIn = (
  db: Db,
  projectId: string,
  steadyIso: string,
  limit: number,
): Promise<TaskRow[]> => expiredIn.all(db, { project_id: projectId, now: steadyIso, limit })

const timeline = prepared<{ project_id: string; id: string; after: string; limit: number }>()((db, p) =>
  db
    .selectFrom('audit')
    .select(['id', 'at', 'kind', 'actor_kind', 'actor_name', 'details'])
    // Unary plus: a subject belongs to one project, so its own index is used.
    .where(aside('project_id'), '=', p('project_id'))
    .where('subject_id', '=', p('id'))
    .where(beyond('audit', p('after')))
    .orderBy(inOrder)
    .limit(p('limit')),
)

export const listTimeline = (db: Db, task: TaskRow, after: string | undefined, limit: number) =>
  timeline.all(db, { project_id: task.project_id, id: task.id, after: after ?? beforeAll, limit })

const insertReason = prepared<TaskReleaseRow>()((db, p) =>
  db.insertInto('task_releases').values({
    task_id: p('task_id'),
    claim_generation: p('claim_generation'),
    reason: p('reason'),
  }),
)

/** Stores the reason for which the last claim of a task was released. */
export async function insertRelease(tx: Tx, task: TaskRow, reason: string): Promise<void> {
  await insertReason.run(tx.db, { task_id: task.id, claim_generation: task.claim_generation, reason })
}

const releases = prepared<{ task_id: string }>()((db, p) =>
  db.selectFrom('task_releases').select(['claim_generation', 'reason']).where('task_id', '=', p('task_id')),
)

/** Reasons of released claims by claim generation. There are at most as many as attempts. */
export async function listReleases(db: Db, taskId: string): Promise<ReadonlyMap<number, string>> {
  const rows = await releases.all(db, { task_id: taskId })
  return new Map(rows.map(({ claim_generation, reason }) => [claim_generation, reason]))
}
