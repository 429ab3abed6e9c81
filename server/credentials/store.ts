import type { Scope } from '../../sdk/contract/endpoint.ts'
import { limits } from '../../sdk/contract/limits.ts'
import type { Credential } from '../../sdk/contract/owner/credentials.ts'
import { type Page, type PageQuery, placeOf, toPage } from '../database/page.ts'
import type { CredentialRow, Db } from '../database/tables.ts'
import type { Tx } from '../database/tx.ts'

export async function insertCredential(
  tx: Tx,
  credential: Pick<
    CredentialRow,
    'project_id' | 'agent_id' | 'binding' | 'public_key' | 'device' | 'scopes' | 'fingerprint'
  > &
    Partial<Pick<CredentialRow, 'secret_sha256' | 'expires_at'>>,
): Promise<string> {
  const id = tx.id()
  await tx.db
    .insertInto('credentials')
    .values({
      secret_sha256: null,
      expires_at: null,
      ...credential,
      id,
      created_at: tx.nowIso,
      revoked_at: null,
      last_used_at: null,
    })
    .execute()
  return id
}

export async function findCredential(
  db: Db,
  projectId: string,
  id: string,
): Promise<CredentialRow | undefined> {
  return db
    .selectFrom('credentials')
    .selectAll()
    .where('id', '=', id)
    .where('project_id', '=', projectId)
    .executeTakeFirst()
}

export async function markRevoked(tx: Tx, id: string): Promise<void> {
  await tx.db.updateTable('credentials').set({ revoked_at: tx.nowIso }).where('id', '=', id).execute()
}

/** A page of credentials, of all agents of a project or of one. */
export interface ByAgentQuery extends PageQuery {
  readonly agent_id?: string | undefined
}

export async function listCredentials(
  db: Db,
  projectId: string,
  query: ByAgentQuery,
): Promise<Page<Credential>> {
  const { after, limit = limits.pageDefault, agent_id } = query
  const place = placeOf(query)
  const rows = await db
    .selectFrom('credentials')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('id', place.follows, place.from)
    .$if(agent_id !== undefined, (some) => some.where('agent_id', '=', agent_id ?? ''))
    .orderBy('id', place.direction)
    .limit(limit + 1)
    .execute()
  return toPage(rows, limit, after, toCredential)
}

export const toCredential = (row: CredentialRow): Credential => ({
  id: row.id,
  agent_id: row.agent_id,
  binding: row.binding,
  scopes: JSON.parse(row.scopes) as Scope[],
  fingerprint: row.fingerprint,
  created_at: row.created_at,
  expires_at: row.expires_at,
  revoked_at: row.revoked_at,
  last_used_at: row.last_used_at,
})
