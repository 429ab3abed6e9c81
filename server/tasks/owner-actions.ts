/** Actions of the owner on tasks: create, read, cancel. Spec §3, §4.3; contract §8. */
import type { Task, TaskInput, TaskList, TaskTimeline } from '../../sdk/contract/agent/tasks.ts'
import { limits } from '../../sdk/contract/limits.ts'
import type { OwnerCancelInput, OwnerTaskListQuery } from '../../sdk/contract/owner/tasks.ts'
import { getAgent } from '../agents/store.ts'
import { ApiError } from '../api-error.ts'
import { ownerActor } from '../audit/store.ts'
import type { Context } from '../context.ts'
import { requirePeerEnabled } from '../conversations/rules.ts'
import type { PageQuery } from '../database/page.ts'
import type { TaskRow } from '../database/work-tables.ts'
import type { Answer, Keyed } from '../idempotency.ts'
import type { OwnerCaller } from '../identity/callers.ts'
import { readAsOwner, writeAsOwner } from '../identity/owner.ts'
import { ownerConversation } from '../messages/owner-actions.ts'
import { onceInProject } from '../projects/idempotency.ts'
import { getProject } from '../projects/store.ts'
import { addTask, taskFields } from './actions.ts'
import { cancelling } from './cancelling.ts'
import { reconcile, recordChange } from './changes.ts'
import { reconcileClaims } from './expired-claims.ts'
import { listInProject } from './lists.ts'
import { timelinePage, toTaskList } from './queries.ts'
import { decide } from './rules.ts'
import * as store from './store.ts'
import { current, toTask } from './views.ts'

export function createTaskAsOwner(
  context: Context,
  caller: OwnerCaller,
  projectId: string,
  input: TaskInput,
  keyed: Keyed,
): Promise<Answer> {
  return writeAsOwner(context, caller, projectId, (tx) =>
    onceInProject(tx, caller, projectId, keyed, async (project) => {
      const agent = await getAgent(tx.db, project.id, input.assignee_agent_id)
      if (project.state === 'archived') throw new ApiError('project_archived')
      requirePeerEnabled(agent.state === 'enabled')
      const task = store.newTaskRow(tx, {
        ...taskFields(input),
        project_id: project.id,
        conversation_id: await ownerConversation(tx, caller, project.id, agent.id),
        creator_kind: 'owner',
        creator_agent_id: null,
        creator_name: caller.name,
      })
      await addTask(context, tx, task, { from: `the owner ${caller.name}`, actor: ownerActor(caller) })
      return toTask(task, context.steady)
    }),
  )
}

export async function listTasksAsOwner(
  context: Context,
  caller: OwnerCaller,
  projectId: string,
  query: OwnerTaskListQuery,
): Promise<TaskList> {
  await reconcileClaims(context)
  return readAsOwner(context, caller, async (db) => {
    const project = await getProject(db, caller, projectId)
    const limit = query.limit ?? limits.pageDefault
    const { after, order, state } = query
    const range = { after, order, limit: limit + 1, state }
    const rows = await listInProject(db, project.id, query.assignee_agent_id, range)
    return toTaskList(context, rows, { ...range, limit })
  })
}

interface Ids {
  readonly id: string
  readonly task_id: string
}

async function findTask(
  db: Parameters<typeof getProject>[0],
  caller: OwnerCaller,
  ids: Ids,
): Promise<TaskRow> {
  const project = await getProject(db, caller, ids.id)
  const task = await store.findInProject(db, project.id, ids.task_id)
  if (task === undefined) throw new ApiError('not_found')
  return task
}

export function getTaskAsOwner(context: Context, caller: OwnerCaller, ids: Ids): Promise<Task> {
  return readAsOwner(context, caller, async (db) =>
    toTask(current(await findTask(db, caller, ids), context.steady), context.steady),
  )
}

export function readTimelineAsOwner(
  context: Context,
  caller: OwnerCaller,
  ids: Ids,
  query: PageQuery,
): Promise<TaskTimeline> {
  return readAsOwner(context, caller, async (db) => {
    return timelinePage(db, await findTask(db, caller, ids), query)
  })
}

export function cancelTaskAsOwner(
  context: Context,
  caller: OwnerCaller,
  ids: Ids,
  { reason }: OwnerCancelInput,
  keyed: Keyed,
): Promise<Answer> {
  return writeAsOwner(context, caller, ids.id, (tx) =>
    onceInProject(tx, caller, ids.id, keyed, async () => {
      const task = await reconcile(context, tx, await findTask(tx.db, caller, ids))
      const what = cancelling(
        task,
        decide(task, 'cancel', () => ({})),
        {
          by: { kind: 'owner', agent_id: null, name: caller.name },
          reason: reason ?? null,
          nowIso: tx.nowIso,
        },
      )
      const cancelled = await recordChange(context, tx, task, { ...what, actor: ownerActor(caller) })
      return { task: toTask(cancelled, context.steady) }
    }),
  )
}
