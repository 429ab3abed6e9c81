/**
 * The audit log: one record per mutation, written in its transaction. A record contains no message bodies, no
 * secrets and no text that an agent wrote; such text remains in the subject itself. Only the owner's reason
 * for a takeover is stored here, because it is stored nowhere else.
 *
 * Kinds have the form `noun.verb` with the verb in the past tense. Contract §10.
 */
import { type SqlBool, sql } from 'kysely'
import type { AuditKind } from '../../sdk/contract/audit-kinds.ts'
import { prepared } from '../database/prepared.ts'
import { aside, beyond, inOrder } from '../database/sql.ts'
import type { Tx } from '../database/tx.ts'
import type { Admitted } from '../identity/admission.ts'
import type { OwnerCaller } from '../identity/callers.ts'

export interface Actor {
  readonly kind: 'agent' | 'owner' | 'system' | 'anonymous'
  readonly id: string | null
  readonly name: string
  readonly request_id: string | null
}

export interface AuditEntry {
  readonly kind: AuditKind
  readonly actor: Actor
  readonly project_id: string | null
  readonly subject: { readonly type: string; readonly id: string | null }
  readonly details?: Readonly<Record<string, unknown>>
}

export const agentActor = (agent: Admitted): Actor => ({
  kind: 'agent',
  id: agent.agent_id,
  name: agent.agent_name,
  request_id: agent.request_id,
})

export const ownerActor = (owner: OwnerCaller): Actor => ({
  kind: 'owner',
  id: owner.user_id,
  name: owner.name,
  request_id: owner.request_id,
})

export const systemActor: Actor = { kind: 'system', id: null, name: 'system', request_id: null }

const insert = prepared<{
  id: string
  at: string
  kind: string
  project_id: string | null
  actor_kind: Actor['kind']
  actor_id: string | null
  actor_name: string
  subject_type: string
  subject_id: string | null
  request_id: string | null
  details: string
}>()((db, p) =>
  db.insertInto('audit').values({
    id: p('id'),
    at: p('at'),
    kind: p('kind'),
    project_id: p('project_id'),
    actor_kind: p('actor_kind'),
    actor_id: p('actor_id'),
    actor_name: p('actor_name'),
    subject_type: p('subject_type'),
    subject_id: p('subject_id'),
    request_id: p('request_id'),
    details: p('details'),
  }),
)

export async function recordAudit(tx: Tx, entry: AuditEntry): Promise<void> {
  await insert.run(tx.db, {
    id: tx.id(),
    at: tx.nowIso,
    kind: entry.kind,
    project_id: entry.project_id,
    actor_kind: entry.actor.kind,
    actor_id: entry.actor.id,
    actor_name: entry.actor.name,
    subject_type: entry.subject.type,
    subject_id: entry.subject.id,
    request_id: entry.actor.request_id,
    details: JSON.stringify(entry.details ?? {}),
  })
}

const recorded = prepared<{
  project_id: string
  kind: string
  id: string
  actor_id: string | null
  from: string
}>()((db, p) =>
  db
    .selectFrom('audit')
    .select(['id', 'at'])
    .where(aside('project_id'), '=', p('project_id'))
    .where('subject_id', '=', p('id'))
    .where(beyond('audit', p('from')))
    .where('kind', '=', p('kind'))
    .where(sql<SqlBool>`(cast(${p('actor_id')} as text) is null or actor_id = ${p('actor_id')})`)
    .orderBy(inOrder, 'desc')
    .limit(1),
)

export interface Recorded {
  readonly kind: AuditKind
  readonly project_id: string
  /** Id of the subject. */
  readonly id: string
  /** In steady time. */
  readonly since: string
  /** Id of the actor. Any actor if it is omitted. */
  readonly actor_id?: string
}

/**
 * Whether such a record exists since `since`. Ids increase with time, so the query reads only the end of the
 * index.
 */
export async function wasRecorded(tx: Tx, wanted: Recorded): Promise<boolean> {
  const { project_id, kind, id, since, actor_id = null } = wanted
  const from = tx.idBefore(since)
  const newest = await recorded.first(tx.db, { project_id, kind, id, actor_id, from })
  return newest !== undefined && tx.steadyOf(newest.id, newest.at) > since
}
