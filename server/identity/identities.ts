/**
 * In-memory cache of credentials by id, with their parsed keys, because parsing a key takes a third of the
 * time of a verification.
 *
 * The cache alone never admits a request: admission reads the stored state again inside the transaction. Code
 * that revokes a credential must call `forget` after the commit, which also empties the caches of other nodes.
 */

import { parseDevice } from '../../sdk/signing/device.ts'
import { type Bus, noBus } from '../bus/bus.ts'
import { credentialColumns } from '../database/columns.ts'
import { prepared } from '../database/prepared.ts'
import type { Reader } from '../database/reader.ts'
import type { CredentialRow } from '../database/tables.ts'
import { type StoredIdentity, storedKey } from './verifier.ts'

export interface Identity extends StoredIdentity {
  readonly agentId: string
  readonly agentName: string
  readonly projectId: string
}

export interface Identities {
  /** Synchronous if the credential is cached. */
  find(credentialId: string, now: Date): Identity | undefined | Promise<Identity | undefined>
  forget(credentialId: string): void
}

/** Twice the default number of waits, so an agent that reconnects every 20 seconds is still cached. */
const maxCached = 20_000

type Row = CredentialRow & { agent_name: string }

interface Kept {
  readonly row: Row
  readonly identity: Identity
}

const stored = prepared<{ id: string }>()((db, p) =>
  db
    .selectFrom('credentials')
    .innerJoin('agents', 'agents.id', 'credentials.agent_id')
    .innerJoin('projects', 'projects.id', 'credentials.project_id')
    .select(credentialColumns)
    .select('agents.name as agent_name')
    .where('credentials.id', '=', p('id'))
    .where('projects.deleted_at', 'is', null),
)

export function createIdentities(
  read: Reader['read'],
  bus: Pick<Bus, 'tell' | 'hear' | 'onGap'> = noBus,
): Identities {
  const rows = new Map<string, Kept>()
  bus.hear('forget', (credentialId) => rows.delete(credentialId))
  bus.onGap(() => rows.clear())

  const load = async (credentialId: string) => {
    const row = await read((db) => stored.first(db, { id: credentialId }))
    if (row === undefined) return undefined
    const entry = { row, identity: toIdentity(row) }
    rows.set(credentialId, entry)
    if (rows.size > maxCached) forgetOldest(rows)
    return entry
  }

  return {
    find(credentialId, now) {
      const entry = rows.get(credentialId)
      return entry === undefined ? load(credentialId).then((each) => each && at(each, now)) : at(entry, now)
    },
    forget(credentialId) {
      rows.delete(credentialId)
      bus.tell('forget', credentialId)
    },
  }
}

function at({ row: { expires_at }, identity }: Kept, now: Date): Identity {
  const expired = expires_at !== null && expires_at <= now.toISOString()
  return expired && identity.state === 'active' ? { ...identity, state: 'expired' } : identity
}

const toIdentity = (row: Row): Identity => ({
  credentialId: row.id,
  agentId: row.agent_id,
  agentName: row.agent_name,
  projectId: row.project_id,
  binding: row.binding,
  publicKey: row.public_key === null ? undefined : storedKey(row.public_key),
  device: row.device === null ? undefined : parseDevice(row.device),
  secretSha256: row.secret_sha256 ?? undefined,
  state: row.revoked_at === null ? 'active' : 'revoked',
})

function forgetOldest(rows: Map<string, unknown>): void {
  for (const oldest of rows.keys()) {
    rows.delete(oldest)
    return
  }
}
