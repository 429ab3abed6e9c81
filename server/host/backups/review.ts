/** Results of a restore for the owner to review. They contain no secrets. */
import type { Db } from '../../database/tables.ts'

/**
 * A credential that is still valid after the restore, or that was revoked after the backup (`revoked_since`).
 * The agent of a valid one may be disabled: `held` or `agent_disabled`.
 */
export interface ReviewedCredential {
  readonly credential_id: string
  readonly project: string
  readonly agent: string
  readonly binding: string
  readonly fingerprint: string
  readonly created_at: string
  readonly last_used_at: string | null
  /** `held`: the restore disabled its agent, until the owner enables it. */
  readonly state: 'good' | 'held' | 'agent_disabled' | 'revoked_since'
}

/** A way to gain access that was open in the backup. The restore ended it. */
export interface ReviewedGrant {
  readonly kind:
    | 'enrollment'
    | 'takeover'
    | 'setup_link'
    | 'sign_in_link'
    | 'owner_session'
    | 'telemetry_token'
  readonly id: string | null
  /** Name of the person, agent or host that it was for. */
  readonly of: string
  readonly project: string | null
  readonly expires_at: string | null
}

export interface ReviewedPerson {
  readonly user_id: string
  readonly name: string
  readonly role: string
  readonly state: string
  /** Names of assigned projects. The owner may see all projects. */
  readonly projects: readonly string[]
}

export interface EndedTransfer {
  readonly transfer_id: string
  readonly project: string
  readonly filename: string
  readonly state: 'failed' | 'cancelled'
}

export interface Review {
  readonly credentials: ReviewedCredential[]
  readonly grants: ReviewedGrant[]
  readonly people: ReviewedPerson[]
  readonly transfers: EndedTransfer[]
  readonly sessions_fenced: number
}

/** Lists all valid credentials, and those that were revoked after the backup. */
export async function reviewCredentials(
  db: Db,
  changed: {
    readonly held: ReadonlySet<string>
    readonly revoked: ReadonlySet<string>
    readonly nowIso: string
  },
): Promise<ReviewedCredential[]> {
  const rows = await db
    .selectFrom('credentials')
    .innerJoin('agents', 'agents.id', 'credentials.agent_id')
    .innerJoin('projects', 'projects.id', 'credentials.project_id')
    .select(['credentials.id', 'binding', 'fingerprint', 'credentials.created_at', 'last_used_at'])
    .select(['revoked_at', 'expires_at', 'agent_id', 'agents.state'])
    .select(['agents.name as agent', 'projects.name as project'])
    .where('projects.deleted_at', 'is', null)
    .orderBy('credentials.id')
    .execute()
  const { held, revoked, nowIso } = changed
  return rows.flatMap((row) => {
    const isInvalid = row.revoked_at !== null || (row.expires_at !== null && row.expires_at <= nowIso)
    if (isInvalid && !revoked.has(row.id)) return []
    const { project, agent, binding, fingerprint, created_at, last_used_at } = row
    const state = revoked.has(row.id)
      ? 'revoked_since'
      : held.has(row.agent_id)
        ? 'held'
        : row.state === 'disabled'
          ? 'agent_disabled'
          : 'good'
    return { credential_id: row.id, project, agent, binding, fingerprint, created_at, last_used_at, state }
  })
}

export async function reviewPeople(db: Db): Promise<ReviewedPerson[]> {
  const people = await db
    .selectFrom('owner_users')
    .select(['id', 'name', 'role', 'state'])
    .orderBy('id')
    .execute()
  const assigned = await db
    .selectFrom('project_administrators')
    .innerJoin('projects', 'projects.id', 'project_administrators.project_id')
    .select(['user_id', 'projects.name'])
    .where('projects.deleted_at', 'is', null)
    .orderBy('projects.name')
    .execute()
  return people.map(({ id, ...person }) => ({
    user_id: id,
    ...person,
    projects: assigned.filter(({ user_id }) => user_id === id).map(({ name }) => name),
  }))
}
