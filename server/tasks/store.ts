/** The SQL of tasks. Project and participant are part of every query; hot queries are compiled once. */
import { type Kysely, sql } from 'kysely'
import type { TaskRole } from '../../sdk/contract/agent/tasks.ts'
import { beforeAll } from '../database/page.ts'
import { prepared } from '../database/prepared.ts'
import type { Tables, TaskRow } from '../database/tables.ts'
import type { Tx } from '../database/transaction.ts'

type Db = Kysely<Tables>

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

/** What a task has nothing of when it is new. */
const untouched = {
  state: 'open',
  attempts: 0,
  claim_generation: 0,
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
} as const

export async function insertTask(tx: Tx, task: NewTask): Promise<TaskRow> {
  const row = { ...task, ...untouched, id: tx.id(), created_at: tx.nowIso, updated_at: tx.nowIso }
  await insert.run(tx.db, row)
  return row
}

/** What may change of a task after it was made. */
export type TaskChange = Partial<Omit<TaskRow, keyof NewTask | 'id' | 'created_at' | 'updated_at'>>

const update = prepared<TaskRow>()((db, p) =>
  db
    .updateTable('tasks')
    .set({
      state: p('state'),
      attempts: p('attempts'),
      claim_generation: p('claim_generation'),
      claim_session_id: p('claim_session_id'),
      claim_session_generation: p('claim_session_generation'),
      claimed_at: p('claimed_at'),
      claim_ends_at: p('claim_ends_at'),
      claim_end: p('claim_end'),
      cancel_requested_at: p('cancel_requested_at'),
      cancelled_by_kind: p('cancelled_by_kind'),
      cancelled_by_agent_id: p('cancelled_by_agent_id'),
      cancelled_by_name: p('cancelled_by_name'),
      cancel_reason: p('cancel_reason'),
      stop_confirmed_at: p('stop_confirmed_at'),
      progress_note: p('progress_note'),
      progress_percent: p('progress_percent'),
      progress_at: p('progress_at'),
      outcome_kind: p('outcome_kind'),
      outcome_at: p('outcome_at'),
      outcome_result: p('outcome_result'),
      outcome_evidence: p('outcome_evidence'),
      updated_at: p('updated_at'),
    })
    .where('id', '=', p('id')),
)

/** Answers the row as it is now. */
export async function changeTask(tx: Tx, task: TaskRow, change: TaskChange): Promise<TaskRow> {
  const row = { ...task, ...change, updated_at: tx.nowIso }
  await update.run(tx.db, row)
  return row
}

const find = prepared<{ id: string; project_id: string }>()((db, p) =>
  db.selectFrom('tasks').selectAll().where('id', '=', p('id')).where('project_id', '=', p('project_id')),
)

export const findInProject = (db: Db, projectId: string, id: string): Promise<TaskRow | undefined> =>
  find.first(db, { id, project_id: projectId })

/** The agent's own: as creator or as assignee. */
export async function findForAgent(
  db: Db,
  projectId: string,
  agentId: string,
  id: string,
): Promise<TaskRow | undefined> {
  const row = await findInProject(db, projectId, id)
  return row?.assignee_agent_id === agentId || row?.creator_agent_id === agentId ? row : undefined
}

const pair = prepared<{ agent_a: string; agent_b: string }>()((db, p) =>
  db
    .selectFrom('pairings')
    .select('enabled')
    .where('agent_a', '=', p('agent_a'))
    .where('agent_b', '=', p('agent_b')),
)

/** Whether the two agents of a task may deal with each other now. The owner's tasks need no pair. */
export async function isPairOpen(db: Db, task: TaskRow): Promise<boolean> {
  if (task.creator_agent_id === null) return true
  const [agent_a = '', agent_b = ''] = [task.creator_agent_id, task.assignee_agent_id].sort()
  return (await pair.first(db, { agent_a, agent_b }))?.enabled === 1
}

const expired = prepared<{ now: string; limit: number }>()((db, p) =>
  db
    .selectFrom('tasks')
    .selectAll()
    .where('claim_ends_at', 'is not', null)
    .where('claim_ends_at', '<=', p('now'))
    .orderBy('claim_ends_at')
    .limit(p('limit')),
)

/** Whose claim is over, longest ago first. */
export const listExpired = (db: Db, leaseNow: string, limit: number): Promise<TaskRow[]> =>
  expired.all(db, { now: leaseNow, limit })

const heldBy = prepared<{ session_id: string; now: string }>()((db, p) =>
  db
    .selectFrom('tasks')
    .select('id')
    .where('claim_session_id', '=', p('session_id'))
    .where('claim_ends_at', 'is not', null)
    .where('claim_ends_at', '>', p('now'))
    .limit(1),
)

/** Whether a session holds a claim that is not over. */
export const holdsClaim = async (db: Db, sessionId: string, leaseNow: string): Promise<boolean> =>
  (await heldBy.first(db, { session_id: sessionId, now: leaseNow })) !== undefined

export interface TaskRange {
  readonly after: string | undefined
  readonly limit: number
  readonly state: TaskRow['state'] | undefined
}

const inRange = (db: Db, { after, limit, state }: TaskRange) => {
  const all = db
    .selectFrom('tasks')
    .selectAll()
    .where('id', '>', after ?? beforeAll)
    .orderBy('id')
    .limit(limit)
  return state === undefined ? all : all.where('state', '=', state)
}

/** The pair is enabled, or the agent holds the claim and may finish. */
const isVisible = (agentId: string) => sql<boolean>`(
  creator_agent_id is null
  or (assignee_agent_id = ${agentId} and claim_ends_at is not null)
  or exists (select 1 from pairings where enabled = 1
    and pairings.agent_a = min(tasks.creator_agent_id, tasks.assignee_agent_id)
    and pairings.agent_b = max(tasks.creator_agent_id, tasks.assignee_agent_id)))`

/** In one role each list follows an index; in either role the two are merged. */
export async function listForAgent(
  db: Db,
  agentId: string,
  role: TaskRole | undefined,
  range: TaskRange,
): Promise<TaskRow[]> {
  const as = (column: 'assignee_agent_id' | 'creator_agent_id') =>
    inRange(db, range).where(column, '=', agentId).where(isVisible(agentId)).execute()
  if (role !== undefined) return as(`${role}_agent_id`)
  const both = [...(await as('assignee_agent_id')), ...(await as('creator_agent_id'))]
  return both.sort((one, other) => (one.id < other.id ? -1 : 1)).slice(0, range.limit)
}

export async function listInProject(
  db: Db,
  projectId: string,
  assigneeId: string | undefined,
  range: TaskRange,
): Promise<TaskRow[]> {
  const all = inRange(db, range)
  // Unary plus: the assignee's index leads, not the project's.
  if (assigneeId === undefined) return all.where('project_id', '=', projectId).execute()
  return all
    .where('assignee_agent_id', '=', assigneeId)
    .where(sql<boolean>`+project_id = ${projectId}`)
    .execute()
}

const timeline = prepared<{ project_id: string; id: string; after: string; limit: number }>()((db, p) =>
  db
    .selectFrom('audit')
    .select(['id', 'at', 'kind', 'actor_kind', 'actor_name', 'details'])
    .where('project_id', '=', p('project_id'))
    .where('subject_id', '=', p('id'))
    .where('id', '>', p('after'))
    .orderBy('id')
    .limit(p('limit')),
)

export const listTimeline = (db: Db, task: TaskRow, after: string | undefined, limit: number) =>
  timeline.all(db, { project_id: task.project_id, id: task.id, after: after ?? beforeAll, limit })
