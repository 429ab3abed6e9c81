/**
 * Queries of a snapshot. Each follows an index and reads a bounded number of rows. The cost depends on the
 * number of agents, of which the first 500 are read, and not on the amount of stored data.
 */
import { sql } from 'kysely'
import { limits } from '../../sdk/contract/limits.ts'
import { prepared } from '../database/prepared.ts'
import { aside, days, inOrder } from '../database/sql.ts'
import type { Db } from '../database/tables.ts'
import { isOpenToOwner } from '../messages/to-owner.ts'

// Literals instead of parameters, because SQLite uses a partial index only if the query repeats its condition
// literally.
const isAwaited = sql<boolean>`type = 'question' and sender_kind = 'agent' and recipient_kind = 'agent'
  and expects_reply_by is not null and answered_at is null`
const isPending = sql<boolean>`state = 'pending'`

/**
 * Agents with their newest session and number of unacknowledged messages, without prompts and instructions.
 */
export const agentsQuery = (db: Db, projectId: string, limit: number, now: string) =>
  db
    .selectFrom('agents')
    .leftJoin('inboxes', 'inboxes.agent_id', 'agents.id')
    .leftJoin('sessions as newest', (join) =>
      join
        .onRef('newest.agent_id', '=', 'agents.id')
        .onRef('newest.generation', '=', 'agents.session_generation'),
    )
    .leftJoin('credentials as used', 'used.id', 'newest.credential_id')
    .select(['agents.id', 'agents.name', 'agents.role_name', 'agents.state', 'inboxes.waiting'])
    .select([
      'newest.last_contact_at',
      'newest.state as session_state',
      'newest.contact_mode',
      'newest.contact_interval_seconds',
      'used.expires_at as credential_expires_at',
      'used.revoked_at as credential_revoked_at',
      'agents.state as agent_state',
    ])
    .select(sinceWithoutCredential(now).as('without_credential_since'))
    .where('agents.project_id', '=', projectId)
    .orderBy('agents.id')
    .limit(limit)

/**
 * When the last credential of an agent was revoked or expired. Null if it has a valid credential or never had
 * one.
 */
const sinceWithoutCredential = (now: string) => sql<string | null>`case
  when exists (select 1 from credentials as good where good.agent_id = agents.id
    and good.revoked_at is null and (good.expires_at is null or good.expires_at > ${now})) then null
  else (select max(coalesce(over.revoked_at, over.expires_at)) from credentials as over
    where over.agent_id = agents.id) end`

export type AgentRow = Awaited<ReturnType<ReturnType<typeof agentsQuery>['execute']>>[number]

const toOwner = prepared<{ project_id: string; most: number }>()((db, p) =>
  db
    .selectFrom((eb) =>
      eb
        .selectFrom('messages')
        .select('id')
        .where('project_id', '=', p('project_id'))
        .where(isOpenToOwner)
        .limit(p('most'))
        .as('found'),
    )
    .select((eb) => eb.fn.countAll<number>().as('count')),
)

export const countToOwner = async (db: Db, projectId: string): Promise<number> =>
  (await toOwner.first(db, { project_id: projectId, most: limits.snapshotCount }))?.count ?? 0

const pendingEnrollments = prepared<{ project_id: string; now: string; most: number }>()((db, p) =>
  db
    .selectFrom((eb) =>
      eb
        .selectFrom('enrollments')
        .select('id')
        .where('project_id', '=', p('project_id'))
        .where(isPending)
        .where('expires_at', '>', p('now'))
        .limit(p('most'))
        .as('found'),
    )
    .select((eb) => eb.fn.countAll<number>().as('count')),
)

export const countPendingEnrollments = async (db: Db, projectId: string, steadyNow: Date): Promise<number> =>
  (
    await pendingEnrollments.first(db, {
      project_id: projectId,
      now: steadyNow.toISOString(),
      most: limits.snapshotCount,
    })
  )?.count ?? 0

const unfinished = prepared<{ project_id: string; most: number }>()((db, p) =>
  db
    .selectFrom((eb) =>
      eb
        .selectFrom('tasks')
        .select('id')
        .where('project_id', '=', p('project_id'))
        .where('ended', 'is', null)
        .limit(p('most'))
        .as('found'),
    )
    .select((eb) => eb.fn.countAll<number>().as('count')),
)

// Unary plus excludes the index of the project, because claimed tasks are few and have an index by the end of
// the claim.
const heldTasks = prepared<{ project_id: string }>()((db, p) =>
  db
    .selectFrom('tasks')
    .select((eb) => eb.fn.countAll<number>().as('held'))
    .select(sql<number>`count(*) filter (where state = 'claimed')`.as('claimed'))
    .where('claim_ends_at', '>', '')
    .where(aside('project_id'), '=', p('project_id')),
)

/** Counts unfinished tasks by state. A task without a claim is open. */
export async function countTasks(db: Db, projectId: string) {
  const { held = 0, claimed = 0 } = (await heldTasks.first(db, { project_id: projectId })) ?? {}
  const most = limits.snapshotCount
  const all = (await unfinished.first(db, { project_id: projectId, most: most + held }))?.count ?? 0
  const atMost = (count: number) => Math.min(count, most)
  return { open: atMost(all - held), claimed: atMost(claimed), cancel_requested: atMost(held - claimed) }
}

const failedTasks = prepared<{ project_id: string; limit: number }>()((db, p) =>
  db
    .selectFrom('tasks')
    .select(['id', 'assignee_agent_id', 'outcome_at'])
    .where('project_id', '=', p('project_id'))
    .where('ended', '=', 'failed')
    .orderBy(inOrder, 'desc')
    .limit(p('limit')),
)

/** The newest failed tasks since `since`. */
export async function listFailedTasks(db: Db, projectId: string, since: string) {
  const rows = await failedTasks.all(db, { project_id: projectId, limit: limits.attentionPerKind })
  return rows.flatMap(({ outcome_at, ...row }) =>
    outcome_at !== null && outcome_at >= since ? [{ ...row, outcome_at }] : [],
  )
}

/** Questions to the owner that are neither acknowledged nor answered. */
const openQuestions = prepared<{ project_id: string; limit: number }>()((db, p) =>
  db
    .selectFrom('messages')
    .select(['id', 'conversation_id', 'sender_agent_id', 'sender_name', 'created_at'])
    .where('project_id', '=', p('project_id'))
    .where(isOpenToOwner)
    .where('type', '=', 'question')
    .where(
      sql<boolean>`not exists (select 1 from messages as answer
        where answer.in_reply_to = messages.id and answer.sender_kind = 'owner')`,
    )
    .orderBy('messages.id', 'desc')
    .limit(p('limit')),
)

export const listOpenQuestions = (db: Db, projectId: string) =>
  openQuestions.all(db, { project_id: projectId, limit: limits.attentionPerKind })

const due = sql.ref<string>('expects_reply_by')

const overdueQuestions = prepared<{ project_id: string; since: string; now: string; limit: number }>()(
  (db, p) =>
    db
      .selectFrom('messages')
      .select(['id', 'inbox_agent_id', sql<string>`expects_reply_by`.as('due_at')])
      .where('project_id', '=', p('project_id'))
      .where(isAwaited)
      .where('expects_reply_by', '>', p('since'))
      .where('expects_reply_by', '<=', p('now'))
      .where(
        sql<boolean>`${days(sql`${p('now')}`)} - ${days(due)} > ${days(due)} - ${days(sql.ref('created_at'))}`,
      )
      .orderBy('expects_reply_by', 'desc')
      .limit(p('limit')),
)

/**
 * Unanswered questions between agents that are overdue by more than the time they allowed for the answer.
 * Newest first, since `since`.
 */
export const listOverdueQuestions = (db: Db, projectId: string, since: string, now: string) =>
  overdueQuestions.all(db, { project_id: projectId, since, now, limit: limits.attentionPerKind })

/** When the owner last wrote in these conversations, in steady time. */
export async function findReopened(db: Db, ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map()
  const rows = await db
    .selectFrom('conversations')
    .select(['id', 'budget_from'])
    .where('id', 'in', ids)
    .where('budget_from', 'is not', null)
    .execute()
  return new Map(rows.map(({ id, budget_from }) => [id, budget_from ?? '']))
}
