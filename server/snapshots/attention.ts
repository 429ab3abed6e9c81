/**
 * The attention list of the owner: its kinds and their rules.
 *
 * - An event stays on the list for a week: a second use of an enrolment, a refused replacement of a session,
 *   a failed task, a tripped guard. A tripped guard leaves it earlier if the owner writes in its
 *   conversation.
 * - A condition stays on the list while it holds: an overdue agent, unread messages that no agent will fetch,
 *   an unanswered question, an agent whose last credential is gone. A question between agents stays for a
 *   week at most.
 *
 * Contract §10 "Snapshot".
 */
import type { AuditKind } from '../../sdk/contract/audit-kinds.ts'
import type { AttentionKind } from '../../sdk/contract/labels.ts'
import type { AuditRecord } from '../../sdk/contract/owner/audit.ts'
import type { AttentionItem, SnapshotAgent, SnapshotCounts } from '../../sdk/contract/owner/snapshot.ts'

/** Kinds of audit records that appear on the list, with their kind there. */
export const attentiveKinds = {
  'enrollment.reused': 'enrollment_reused',
  'session.replacement_refused': 'session_replacement_refused',
  'conversation.guard_tripped': 'guard_tripped',
} as const satisfies Partial<Record<AuditKind, AttentionKind>>
export type AttentiveKind = keyof typeof attentiveKinds

/**
 * Removes the owner's free-text reason, because a snapshot must be "sanitized". The reason stays in the audit
 * log.
 */
export function withoutWords({ details: { reason: _, ...details }, ...record }: AuditRecord): AuditRecord {
  return { ...record, details }
}

/** Builds one item per subject and actor, newest first like the records. */
export function itemsOf(
  kind: AttentionKind,
  newestFirst: readonly AuditRecord[],
  agents: readonly SnapshotAgent[],
): AttentionItem[] {
  const bySubject = Map.groupBy(newestFirst, ({ subject, actor }) => `${subject.id} ${actor.id}`)
  return [...bySubject.values()].flatMap((records) => {
    const [latest] = records
    if (latest === undefined) return []
    const { subject, at } = latest
    return [{ kind, at, agent: agentOf(latest, agents), subject, count: records.length }]
  })
}

/** The agent that caused the event or, if the actor is unknown, the agent that it concerns. */
function agentOf({ actor, details }: AuditRecord, agents: readonly SnapshotAgent[]): AttentionItem['agent'] {
  const concerned = agents.find(({ id }) => id === (actor.kind === 'agent' ? actor.id : details.agent_id))
  return concerned === undefined ? null : { id: concerned.id, name: concerned.name }
}

/** Whether the owner wrote in the conversation since its guard tripped, all in steady time. */
export const isReopened = (
  conversationId: string | null,
  trippedAt: string,
  openedAt: ReadonlyMap<string, string>,
): boolean => conversationId !== null && (openedAt.get(conversationId) ?? '') > trippedAt

export function itemsOfAgents(agents: readonly SnapshotAgent[], observedAt: string): AttentionItem[] {
  const enabled = agents.filter(({ state }) => state === 'enabled')
  const subjectOf = ({ id }: SnapshotAgent) => ({ type: 'agent', id })
  const named = ({ id, name }: SnapshotAgent) => ({ id, name })
  const overdue = enabled
    .filter(({ connection }) => connection.next_contact.overdue)
    .map((agent) => ({
      kind: 'agent_overdue' as const,
      at: agent.connection.next_contact.expected_at ?? observedAt,
      agent: named(agent),
      subject: subjectOf(agent),
      count: 1,
    }))
  const unheard = enabled.filter(isUnheard).map((agent) => ({
    kind: 'unread_unheard' as const,
    at: agent.connection.last_contact_at ?? observedAt,
    agent: named(agent),
    subject: subjectOf(agent),
    count: agent.waiting,
  }))
  return [...overdue, ...unheard]
}

/** Items for enabled agents that were enrolled and have no valid credential left. */
export const itemsWithoutCredential = (
  rows: readonly (Pick<SnapshotAgent, 'id' | 'name' | 'state'> & {
    readonly without_credential_since: string | null
  })[],
): AttentionItem[] =>
  rows.flatMap(({ id, name, state, without_credential_since: at }) =>
    state === 'enabled' && at !== null
      ? [{ kind: 'no_credential_left', at, agent: { id, name }, subject: { type: 'agent', id }, count: 1 }]
      : [],
  )

/**
 * Whether unread messages wait for an agent that is not connected and has no known schedule, or has missed
 * it.
 */
const isUnheard = ({ waiting, connection: { connected, next_contact: next } }: SnapshotAgent): boolean =>
  waiting > 0 && !connected && (next.kind === 'unknown' || next.overdue)

export function countsOf(
  agents: readonly SnapshotAgent[],
): Omit<SnapshotCounts, 'to_owner' | 'pending_enrollments' | 'tasks'> {
  const count = (fits: (agent: SnapshotAgent) => boolean) => agents.filter(fits).length
  return {
    agents: agents.length,
    enabled: count(({ state }) => state === 'enabled'),
    connected: count(({ connection }) => connection.connected),
    listening_now: count(({ connection }) => connection.listening_now),
    overdue: count(({ connection }) => connection.next_contact.overdue),
    unacknowledged: agents.reduce((sum, { waiting }) => sum + waiting, 0),
  }
}
