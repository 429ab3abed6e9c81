/**
 * Queries for lists of tasks. Each follows an index, however many tasks exist.
 *
 * - `ended` is null for an unfinished task and holds the final state otherwise. Every list is in the order
 *   (side, ended, rowid), which is also that of the ids. A list of all states merges these lists.
 * - The list of `open` skips claimed tasks. The lists of `claimed` and `cancel_requested` are found by the
 *   end of the claim and then sorted. Their cost depends on the number of current claims only.
 * - Every query is restricted to the project and the participant.
 *
 * Contract §8.
 */
import { type SelectQueryBuilder, type SqlBool, sql } from 'kysely'
import type { TaskRole } from '../../sdk/contract/agent/tasks.ts'
import { taskColumns } from '../database/columns.ts'
import { type PageQuery, type Place, placeOf } from '../database/page.ts'
import { type Prepared, prepared } from '../database/prepared.ts'
import { aside, below, beyond, inOrder, inOrderWithin, isPairOf, pageOfPart } from '../database/sql.ts'
import type { Db, Tables } from '../database/tables.ts'
import type { TaskRow } from '../database/work-tables.ts'
import { isFinal, type TaskState } from './rules.ts'

type Side = 'creator_agent_id' | 'assignee_agent_id' | 'project_id'
type Tasks = SelectQueryBuilder<Tables, 'tasks', TaskRow>

interface ListParameters {
  /** Id of the agent or project whose list it is. */
  readonly of: string
  readonly project_id: string
  /** Id from which the page begins. */
  readonly from: string
  readonly limit: number
  readonly state: TaskState
}

/** Adds further conditions. */
type Narrow = (query: Tasks, p: <K extends keyof ListParameters>(name: K) => ListParameters[K]) => Tasks

interface Lists {
  readonly all: Prepared<ListParameters, TaskRow>
  readonly open: Prepared<ListParameters, TaskRow>
  readonly held: Prepared<ListParameters, TaskRow>
  readonly ended: Prepared<ListParameters, TaskRow>
}

function listsBy(side: Side, narrow: Narrow, direction: Place['direction'] = 'asc'): Lists {
  const following = direction === 'asc' ? beyond : below
  const by = (db: Db, p: Parameters<Narrow>[1]) =>
    narrow(
      db
        .selectFrom('tasks')
        .select(taskColumns)
        // The column by which the lists are merged must be selected.
        .select(inOrder.as('place'))
        .where(side, '=', p('of'))
        .where(following('tasks', p('from'))),
      p,
    )
  const inOneState = inOrderWithin('ended', direction)
  const part = (db: Db, p: Parameters<Narrow>[1], ended: TaskRow['ended']) =>
    by(db, p)
      .where('ended', 'is', ended)
      .modifyEnd(pageOfPart(inOneState, p('limit')))
  return {
    all: prepared<ListParameters>()((db, p) =>
      part(db, p, null)
        .unionAll(part(db, p, 'completed'))
        .unionAll(part(db, p, 'failed'))
        .unionAll(part(db, p, 'declined'))
        .unionAll(part(db, p, 'cancelled'))
        .orderBy(sql.ref('place'), direction)
        .limit(p('limit')),
    ),
    open: prepared<ListParameters>()((db, p) =>
      by(db, p).where('ended', 'is', null).where('state', '=', 'open').orderBy(inOneState).limit(p('limit')),
    ),
    // Unary plus excludes all indexes but the one by the end of the claim.
    held: prepared<ListParameters>()((db, p) =>
      narrow(
        db
          .selectFrom('tasks')
          .select(taskColumns)
          .where('claim_ends_at', '>', '')
          .where(side === 'assignee_agent_id' ? sql.ref(side) : aside(side), '=', p('of')),
        p,
      )
        .where('state', '=', p('state'))
        .where(aside('id'), direction === 'asc' ? '>' : '<', p('from'))
        .orderBy(aside('id'), direction)
        .limit(p('limit')),
    ),
    ended: prepared<ListParameters>()((db, p) =>
      by(db, p)
        .where('ended', '=', p('state') as 'completed')
        .orderBy(inOrder, direction)
        .limit(p('limit')),
    ),
  }
}

/** Unary plus excludes the index of the project, so that the index of the side is used. */
const inProject: Narrow = (query, p) => query.where(aside('project_id'), '=', p('project_id'))

/** A task is visible if its pair is enabled, or if the agent holds the claim and may finish it. */
const visibleAs =
  (role: TaskRole): Narrow =>
  (query, p) =>
    inProject(query, p).where(sql<SqlBool>`(
      creator_agent_id is null
      ${role === 'assignee' ? sql`or claim_ends_at is not null` : sql``}
      or exists (select 1 from pairings where enabled = 1
        and ${isPairOf(sql.ref('tasks.creator_agent_id'), sql.ref('tasks.assignee_agent_id'))}))`)

const lists = {
  assignee: listsBy('assignee_agent_id', visibleAs('assignee')),
  creator: listsBy('creator_agent_id', visibleAs('creator')),
}

const inProjectBy = (direction: Place['direction']) => ({
  all: listsBy('project_id', (query) => query, direction),
  ofAssignee: listsBy('assignee_agent_id', inProject, direction),
})

const listsInProject = { asc: inProjectBy('asc'), desc: inProjectBy('desc') }

export interface TaskRange extends Pick<PageQuery, 'after' | 'order'> {
  readonly limit: number
  readonly state: TaskState | undefined
}

function listOf(db: Db, by: Lists, of: string, projectId: string, range: TaskRange): Promise<TaskRow[]> {
  const { state } = range
  const parameters = {
    ...{ of, project_id: projectId, from: placeOf(range).from, limit: range.limit },
    state: state ?? 'open',
  }
  if (state === undefined) return by.all.all(db, parameters)
  if (state === 'open') return by.open.all(db, parameters)
  return isFinal(state) ? by.ended.all(db, parameters) : by.held.all(db, parameters)
}

/** The tasks of an agent, in one role or in both. */
export async function listForAgent(
  db: Db,
  agent: { readonly agent_id: string; readonly project_id: string },
  role: TaskRole | undefined,
  range: TaskRange,
): Promise<TaskRow[]> {
  const as = (one: TaskRole) => listOf(db, lists[one], agent.agent_id, agent.project_id, range)
  if (role !== undefined) return as(role)
  const both = [...(await as('assignee')), ...(await as('creator'))]
  return both.sort((one, other) => (one.id < other.id ? -1 : 1)).slice(0, range.limit)
}

export function listInProject(
  db: Db,
  projectId: string,
  assigneeId: string | undefined,
  range: TaskRange,
): Promise<TaskRow[]> {
  const { all, ofAssignee } = listsInProject[placeOf(range).direction]
  return assigneeId === undefined
    ? listOf(db, all, projectId, projectId, range)
    : listOf(db, ofAssignee, assigneeId, projectId, range)
}
