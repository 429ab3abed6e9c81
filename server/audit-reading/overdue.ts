/** When agents of a project become overdue, for live views that wait for it. Contract §10. */
import { limits } from '../../sdk/contract/limits.ts'
import type { Context } from '../context.ts'
import type { Db } from '../database/tables.ts'

/** Agents with a schedule, among the first 500 of the project, which a snapshot shows. */
const scheduled = (db: Db, projectId: string) =>
  db
    .selectFrom((eb) =>
      eb
        .selectFrom('agents')
        .select(['id', 'session_generation'])
        .where('project_id', '=', projectId)
        .orderBy('id')
        .limit(limits.snapshotAgents)
        .as('shown'),
    )
    .innerJoin('sessions', (join) =>
      join
        .onRef('sessions.agent_id', '=', 'shown.id')
        .onRef('sessions.generation', '=', 'shown.session_generation'),
    )
    .select(['shown.id', 'sessions.last_contact_at', 'sessions.state as session_state'])
    .select(['sessions.contact_mode', 'sessions.contact_interval_seconds'])
    .where('sessions.contact_mode', '=', 'short_poll')

export interface Overdue {
  /** Whether an agent became overdue after `since`. */
  readonly happened: boolean
  /** When the next agent becomes overdue, if it makes no contact. In steady time. */
  readonly next: Date | undefined
}

interface Services {
  readonly presence: Pick<Context['presence'], 'overdueFrom'>
  readonly steady: Pick<Context['steady'], 'now'>
}

export async function overdueSince(
  { presence, steady }: Services,
  db: Db,
  projectId: string,
  since: Date,
): Promise<Overdue> {
  const now = steady.now()
  const instants = (await scheduled(db, projectId).execute()).flatMap(
    (row) => presence.overdueFrom(row.id, row) ?? [],
  )
  const later = instants.filter((at) => at >= now).sort((one, other) => one.getTime() - other.getTime())
  return { happened: instants.some((at) => at >= since && at < now), next: later[0] }
}
