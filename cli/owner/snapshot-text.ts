/**
 * Formats a project snapshot: a table of agents, counts, and what needs the owner's attention. Also lists the
 * changes between two snapshots.
 *
 * "Stale dashboard data displays as Unavailable." (Spec §1.) The labels come from the SDK.
 */
import type { AttentionItem, ProjectSnapshot, SnapshotAgent } from '../../sdk/index.ts'
import { oneLine } from '../../sdk/plain-text.ts'
import { tableText } from '../terminal/output.ts'
import { relative } from '../terminal/words.ts'

/** Labels and limits of the SDK that the text needs. */
export interface Wording {
  readonly attentionLabels: Readonly<Record<AttentionItem['kind'], string>>
  readonly connectionLabels: Readonly<
    Record<
      | 'connected'
      | 'listening_now'
      | 'last_contact'
      | 'next_contact'
      | 'after_current_work_step'
      | 'overdue'
      | 'unavailable',
      string
    >
  >
  readonly staleSeconds: number
}

/** Loads the labels and the SDK, only when there is something to print. */
export async function loadWording(): Promise<Wording> {
  const { attentionLabels, connectionLabels, limits } = await import('../../sdk/program.ts')
  return { attentionLabels, connectionLabels, staleSeconds: limits.snapshotStaleSeconds }
}

export const isStale = ({ observed_at }: ProjectSnapshot, { staleSeconds }: Wording, now: Date): boolean =>
  now.getTime() - Date.parse(observed_at) > staleSeconds * 1000

export function snapshotText(snapshot: ProjectSnapshot, wording: Wording, now: Date): string {
  const { project, counts, attention, agents, has_more_agents: more } = snapshot
  const enabled = counts.enabled === counts.agents ? '' : `, ${counts.enabled} enabled`
  const numbers = [
    `${counts.agents}${more ? ' or more' : ''} agents${enabled}`,
    `${counts.connected} connected`,
    `${counts.listening_now} listening now`,
    `${counts.overdue} overdue`,
    `${counts.unacknowledged} messages unacknowledged`,
    `${counts.to_owner} to you`,
    `${counts.tasks.open} tasks open`,
    `${counts.tasks.claimed + counts.tasks.cancel_requested} held`,
    ...(counts.pending_enrollments > 0 ? [`${counts.pending_enrollments} enrolments pending`] : []),
  ]
  const lines = [
    oneLine(`${project.name}, ${project.state}, observed ${relative(snapshot.observed_at, now)}`),
    numbers.join(', '),
    '',
    ...attentionLines(attention, wording, now),
    '',
    agents.length === 0 ? 'no agents yet' : agentTable(agents, wording, now, isStale(snapshot, wording, now)),
  ]
  return lines.join('\n')
}

const attentionLines = (attention: readonly AttentionItem[], wording: Wording, now: Date): string[] =>
  attention.length === 0
    ? ['nothing needs your attention']
    : [
        'attention:',
        ...attention.map((item) => `  ${attentionText(item, wording)}, ${relative(item.at, now)}`),
      ]

export function attentionText(
  { kind, agent, subject, count }: AttentionItem,
  { attentionLabels }: Wording,
): string {
  const who = agent === null ? [] : [agent.name]
  const what = subject.id === null || subject.type === 'agent' ? [] : [`${subject.type} ${subject.id}`]
  const often = count > 1 ? [`${count} times`] : []
  const many = kind === 'unread_unheard' ? [`${count} waiting`] : often
  return oneLine(`${attentionLabels[kind]}: ${[...who, ...what, ...many].join(', ')}`)
}

function agentTable(agents: readonly SnapshotAgent[], wording: Wording, now: Date, stale: boolean): string {
  const labels = wording.connectionLabels
  const header = [
    'agent',
    'state',
    labels.connected,
    labels.listening_now,
    labels.last_contact,
    labels.next_contact,
    'waiting',
  ]
  const rows = agents.map(({ name, state, connection, waiting }) => {
    const { connected, listening_now: listening, last_contact_at: last } = connection
    const observed = [
      connected ? 'yes' : 'no',
      listening ? 'yes' : 'no',
      last === null ? 'never' : relative(last, now),
      nextContact(connection, wording, now),
    ]
    return [name, state, ...observed.map((word) => (stale ? labels.unavailable : word)), String(waiting)]
  })
  return tableText(header, rows)
}

function nextContact(
  { next_contact: next }: SnapshotAgent['connection'],
  wording: Wording,
  now: Date,
): string {
  const labels = wording.connectionLabels
  if (next.kind === 'listening') return labels.listening_now
  if (next.kind === 'after_current_work_step') return labels.after_current_work_step
  if (next.kind === 'unknown' || next.expected_at === null) return 'unknown'
  const at = relative(next.expected_at, now)
  return next.overdue ? `${labels.overdue}, ${at}` : at
}

/** The one word that describes an agent's current connection. */
function standing({ state, connection }: SnapshotAgent, { connectionLabels: labels }: Wording): string {
  if (state === 'disabled') return 'disabled'
  if (connection.listening_now) return labels.listening_now
  if (connection.next_contact.overdue) return labels.overdue
  return connection.connected ? labels.connected : 'not connected'
}

/** Returns a line for each agent and attention item that is new or changed. Without `before`, all of them. */
export function changes(
  before: ProjectSnapshot | undefined,
  after: ProjectSnapshot,
  wording: Wording,
): string[] {
  const known = new Map(before?.agents.map((agent) => [agent.id, standing(agent, wording)]))
  const moved = after.agents.filter((agent) => known.get(agent.id) !== standing(agent, wording))
  const keyOf = ({ kind, at, subject }: AttentionItem) =>
    `${kind} ${subject.id} ${kind === 'unread_unheard' ? '' : at}`
  const listed = new Set(before?.attention.map(keyOf))
  const open = new Set(after.attention.map(keyOf))
  const line = (text: string) => oneLine(`${after.observed_at}  ${text}`)
  return [
    ...moved.map((agent) => line(`agent  ${agent.name}  ${standing(agent, wording)}`)),
    ...after.attention
      .filter((item) => !listed.has(keyOf(item)))
      .map((item) => line(`attention  ${attentionText(item, wording)}`)),
    ...(before?.attention ?? [])
      .filter((item) => !open.has(keyOf(item)))
      .map((item) => line(`settled  ${attentionText(item, wording)}`)),
  ]
}
