import { limits } from '../../sdk/contract/limits.ts'
import type { AuditRecord } from '../../sdk/contract/owner/audit.ts'
import type { AttentionItem, ProjectSnapshot, SnapshotAgent } from '../../sdk/contract/owner/snapshot.ts'
import { listRecords, toRecord } from '../audit-reading/queries.ts'
import type { Context } from '../context.ts'
import type { Db } from '../database/tables.ts'
import type { OwnerCaller } from '../identity/callers.ts'
import { readAsOwner } from '../identity/owner.ts'
import { getProject, toProject } from '../projects/store.ts'
import { toNodeInfo } from '../telemetry/actions.ts'
import {
  type AttentiveKind,
  attentiveKinds,
  countsOf,
  isReopened,
  itemsOf,
  itemsOfAgents,
  itemsWithoutCredential,
  withoutWords,
} from './attention.ts'
import * as store from './store.ts'

export async function getSnapshot(
  context: Context,
  caller: OwnerCaller,
  projectId: string,
): Promise<ProjectSnapshot> {
  // As with telemetry, an administrator of projects does not see the installation.
  const nodes = caller.role === 'owner' ? (await context.nodes.list()).map(toNodeInfo) : undefined
  return readAsOwner(context, caller, async (db, now) => {
    const project = await getProject(db, caller, projectId)
    const steadyNow = context.steady.now()
    const version = context.presenceChanges.version(project.id)
    context.ownerViews.saw(caller.session_id, project.id, { version, at: steadyNow })
    const observed_at = context.steady.wall(steadyNow.toISOString())
    const rows = await store.agentsQuery(db, project.id, limits.snapshotAgents + 1, observed_at).execute()
    const agents = rows.slice(0, limits.snapshotAgents).map((row) => toAgent(context, row, steadyNow))
    const latest = { order: 'newest_first', limit: limits.activityRecords } as const
    const activity = (await listRecords(db, project.id, latest)).slice(0, limits.activityRecords)
    return {
      project: toProject(project),
      agents,
      has_more_agents: rows.length > agents.length,
      counts: {
        ...countsOf(agents),
        to_owner: await store.countToOwner(db, project.id),
        pending_enrollments: await store.countPendingEnrollments(db, project.id, steadyNow),
        tasks: await store.countTasks(db, project.id),
      },
      activity: activity.reverse().map((row) => withoutWords(toRecord(row))),
      attention: await attention(context, db, project.id, { rows, agents }, now),
      ...(nodes !== undefined && { nodes }),
      observed_at,
    }
  })
}

const toAgent = (context: Context, row: store.AgentRow, steadyNow: Date): SnapshotAgent => ({
  id: row.id,
  name: row.name,
  role_name: row.role_name,
  state: row.state,
  connection: context.presence.connection(row.id, steadyNow, row),
  waiting: row.waiting ?? 0,
})

/** Builds the attention list, newest first. */
async function attention(
  context: Context,
  db: Db,
  projectId: string,
  { rows, agents }: { readonly rows: readonly store.AgentRow[]; readonly agents: readonly SnapshotAgent[] },
  now: Date,
): Promise<AttentionItem[]> {
  const since = new Date(now.getTime() - limits.attentionDays * 86_400_000).toISOString()
  const events: AttentionItem[] = await listFailed(db, projectId, agents, since)
  for (const kind of Object.keys(attentiveKinds) as AttentiveKind[])
    events.push(...(await listEvents(context, db, projectId, kind, agents, since)))
  const questions = (await store.listOpenQuestions(db, projectId)).map(
    (row): AttentionItem => ({
      kind: 'question_to_owner',
      at: row.created_at,
      agent: row.sender_agent_id === null ? null : { id: row.sender_agent_id, name: row.sender_name },
      subject: { type: 'message', id: row.id },
      count: 1,
    }),
  )
  const overdue = await listOverdue(db, projectId, agents, { since, now: now.toISOString() })
  const all = [
    ...events,
    ...itemsOfAgents(agents, now.toISOString()),
    ...itemsWithoutCredential(rows.slice(0, agents.length)),
    ...questions,
    ...overdue,
  ]
  return all.sort((one, other) => (one.at < other.at ? 1 : -1))
}

async function listOverdue(
  db: Db,
  projectId: string,
  agents: readonly SnapshotAgent[],
  { since, now }: { readonly since: string; readonly now: string },
): Promise<AttentionItem[]> {
  const questions = await store.listOverdueQuestions(db, projectId, since, now)
  return questions.map(({ id, inbox_agent_id, due_at }) => {
    const recipient = agents.find((agent) => agent.id === inbox_agent_id)
    const agent = recipient === undefined ? null : { id: recipient.id, name: recipient.name }
    return { kind: 'question_overdue', at: due_at, agent, subject: { type: 'message', id }, count: 1 }
  })
}

async function listFailed(
  db: Db,
  projectId: string,
  agents: readonly SnapshotAgent[],
  since: string,
): Promise<AttentionItem[]> {
  const failed = await store.listFailedTasks(db, projectId, since)
  return failed.map(({ id, assignee_agent_id, outcome_at }) => {
    const assignee = agents.find((agent) => agent.id === assignee_agent_id)
    const agent = assignee === undefined ? null : { id: assignee.id, name: assignee.name }
    return { kind: 'task_failed', at: outcome_at, agent, subject: { type: 'task', id }, count: 1 }
  })
}

async function listEvents(
  context: Context,
  db: Db,
  projectId: string,
  kind: AttentiveKind,
  agents: readonly SnapshotAgent[],
  since: string,
): Promise<AttentionItem[]> {
  const query = { kind, since, order: 'newest_first', limit: limits.attentionPerKind } as const
  const records = (await listRecords(db, projectId, query)).slice(0, limits.attentionPerKind).map(toRecord)
  const open = kind === 'conversation.guard_tripped' ? await stillTripped(context, db, records) : records
  return itemsOf(attentiveKinds[kind], open, agents)
}

async function stillTripped(
  { steady }: Context,
  db: Db,
  tripped: readonly AuditRecord[],
): Promise<AuditRecord[]> {
  const ids = new Set(tripped.map(({ subject }) => subject.id ?? ''))
  const reopened = await store.findReopened(db, [...ids])
  return tripped.filter(({ id, at, subject }) => !isReopened(subject.id, steady.steadyOf(id, at), reopened))
}
