/**
 * Reads tasks as an agent, and waits for them.
 *
 * A list first records which claims have expired. It can wait for its first task, so that an agent that waits
 * for work, or for the request to stop, is notified immediately. Such a wait uses one of the session's slots
 * and does not count as listening.
 *
 * Spec §3 "claim state reconciled", §4.2; contract §8.
 */
import type { FastifyRequest } from 'fastify'
import type { Task, TaskList, TaskListQuery, TaskTimeline } from '../../sdk/contract/agent/tasks.ts'
import { limits } from '../../sdk/contract/limits.ts'
import { ApiError } from '../api-error.ts'
import type { Context } from '../context.ts'
import { type PageQuery, toPage } from '../database/page.ts'
import type { Db } from '../database/tables.ts'
import type { TaskRow } from '../database/work-tables.ts'
import { openNoticeWait } from '../delivery/notice-wait.ts'
import { type Admitted, readAs, writeAs } from '../identity/admission.ts'
import type { AgentCaller } from '../identity/callers.ts'
import { reconcile } from './changes.ts'
import { listForAgent } from './lists.ts'
import * as store from './store.ts'
import { current, toEntry, toTask } from './views.ts'

/** Maximum number of claims that one transaction reconciles, so that it is short. */
const reconciledPerBatch = 50

export async function listTasks(
  context: Context,
  caller: AgentCaller,
  query: TaskListQuery,
  request: FastifyRequest,
): Promise<TaskList> {
  const first = await readReconciled(context, caller, query)
  if (first.page.tasks.length > 0 || (query.wait_seconds ?? 0) === 0) return first.page
  return waitForTasks(context, caller, query, request, first.agent)
}

/**
 * Reads the list after all expired claims of the project were recorded, because lists filter by the stored
 * state. Usually none has expired, and one transaction is enough.
 */
async function readReconciled(context: Context, caller: AgentCaller, query: TaskListQuery) {
  const unit = async (db: Db, agent: Admitted) => {
    const expired = await store.listExpiredIn(db, caller.project_id, context.steady.now().toISOString(), 1)
    return expired.length > 0 ? undefined : pageOf(context, db, agent, query)
  }
  const found = await readAs(context, caller, unit, { alone: [] })
  if (found !== undefined) return found
  await reconcileProject(context, caller)
  return readTasks(context, caller, query)
}

async function reconcileProject(context: Context, caller: AgentCaller): Promise<void> {
  let found: number
  do {
    found = await writeAs(context, caller, async (tx) => {
      const expired = await store.listExpiredIn(tx.db, caller.project_id, tx.steadyIso, reconciledPerBatch)
      for (const task of expired) await reconcile(context, tx, task)
      return expired.length
    })
  } while (found === reconciledPerBatch)
}

async function waitForTasks(
  context: Context,
  caller: AgentCaller,
  query: TaskListQuery,
  request: FastifyRequest,
  agent: Admitted,
): Promise<TaskList> {
  const closeWait = context.presence.openWait(agent, 'tasks')
  const noticeWait = openNoticeWait(context, agent.agent_id, request)
  const deadline = context.monotonicMs() + (query.wait_seconds ?? 0) * 1000
  try {
    for (;;) {
      // Reads again, because a task may have changed between the first read and the subscription.
      const { page } = await readTasks(context, caller, query)
      const left = deadline - context.monotonicMs()
      if (page.tasks.length > 0 || left <= 0 || noticeWait.hasEnded()) return page
      await noticeWait.next(left)
    }
  } finally {
    noticeWait.close()
    closeWait()
  }
}

const readTasks = (context: Context, caller: AgentCaller, query: TaskListQuery) =>
  readAs(context, caller, (db, agent) => pageOf(context, db, agent, query))

async function pageOf(context: Context, db: Db, agent: Admitted, query: TaskListQuery) {
  const limit = query.limit ?? limits.pageDefault
  const range = { after: query.after, limit: limit + 1, state: query.state }
  const rows = await listForAgent(db, agent, query.role, range)
  return { page: toTaskList(context, rows, { ...range, limit }), agent }
}

export interface ListShape {
  readonly after: string | undefined
  readonly limit: number
  readonly state: TaskRow['state'] | undefined
}

/**
 * Builds a list from up to `limit + 1` rows. A claim that expired after the reconciliation is computed from
 * the clock.
 */
export function toTaskList(context: Context, rows: readonly TaskRow[], shape: ListShape): TaskList {
  const { after, limit, state } = shape
  const { items, ...page } = toPage(rows, limit, after, (row) =>
    toTask(current(row, context.steady), context.steady),
  )
  return { tasks: items.filter((task) => state === undefined || task.state === state), ...page }
}

export function getTask(context: Context, caller: AgentCaller, id: string): Promise<Task> {
  const unit = async (db: Db, agent: Admitted) =>
    toTask(current(await visible(db, agent, id), context.steady), context.steady)
  return readAs(context, caller, unit, { alone: [id] })
}

export function readTimeline(
  context: Context,
  caller: AgentCaller,
  id: string,
  query: PageQuery,
): Promise<TaskTimeline> {
  const unit = async (db: Db, agent: Admitted) => timelinePage(db, await visible(db, agent, id), query)
  return readAs(context, caller, unit, { alone: [id] })
}

export async function timelinePage(
  db: Db,
  task: TaskRow,
  { after, limit = limits.pageDefault }: PageQuery,
): Promise<TaskTimeline> {
  const rows = await store.listTimeline(db, task, after, limit + 1)
  const isReleased = rows.some(({ kind }) => kind === 'task.released')
  const releases = isReleased ? await store.listReleases(db, task.id) : new Map<number, string>()
  const { items: entries, ...page } = toPage(rows, limit, after, (row) => toEntry(row, task, releases))
  return { entries, ...page }
}

/**
 * Returns a task of the agent. While its pair is disabled, only the holder of the claim sees it. @throws
 * not_found
 */
async function visible(db: Db, agent: Admitted, id: string): Promise<TaskRow> {
  const task = await store.findForAgent(db, agent.project_id, agent.agent_id, id)
  if (task === undefined) throw new ApiError('not_found')
  const holds = task.claim_ends_at !== null && task.assignee_agent_id === agent.agent_id
  if (!holds && !(await store.isPairOpen(db, task))) throw new ApiError('not_found')
  return task
}
