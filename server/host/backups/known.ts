/**
 * Reads from the database that a restore replaces which access was revoked since the backup.
 *
 * Only restrictions are carried over, so a restore never gives back access that was revoked. If no database
 * is replaced, or it cannot be read, these are unknown; see `restorations.ts`.
 */
import type Database from 'better-sqlite3'
import type { OwnerUserRow } from '../../database/node-tables.ts'
import { migrationStatus } from '../../database/sqlite/migrate.ts'
import { openDatabase } from '../../database/sqlite/open.ts'
import { readServerId } from '../../database/sqlite/server-id.ts'
import type { PairingRow } from '../../database/tables.ts'
import type { RecipientKeyRow } from '../../database/work-tables.ts'

export interface Known {
  readonly revokedCredentials: ReadonlySet<string>
  readonly disabledAgents: ReadonlySet<string>
  readonly deletedProjects: ReadonlySet<string>
  readonly disabledPairs: readonly PairingRow[]
  readonly people: ReadonlyMap<string, Pick<OwnerUserRow, 'state' | 'password'>>
  /** Entries of the form `user_id project_id`. */
  readonly assignments: ReadonlySet<string>
  readonly recipientKeys: ReadonlyMap<string, RecipientKeyRow>
  readonly telemetryToken: Buffer | undefined
  /** Highest session generation of any agent. */
  readonly generation: number
  /** Time of its last record. */
  readonly newest: string
}

/** Returns undefined if the database belongs to another installation or cannot be read. */
export function readKnown(path: string, serverId: string): Known | undefined {
  let database: Database.Database | undefined
  try {
    database = openDatabase(path, { readonly: true })
    if (migrationStatus(database).length === 0 || readServerId(database) !== serverId) return undefined
    return read(database)
  } catch {
    // Damaged, or not readable by this version. The owner then decides which agents may continue.
    return undefined
  } finally {
    database?.close()
  }
}

function read(database: Database.Database): Known {
  const ids = (sql: string) => new Set(database.prepare<[], string>(sql).pluck().all())
  const rows = <T>(sql: string) => database.prepare<[], T>(sql).all()
  const people = rows<OwnerUserRow>('SELECT id, state, password FROM owner_users')
  const keys = rows<RecipientKeyRow>('SELECT * FROM recipient_keys')
  const token = database.prepare<[], Buffer>('SELECT token_sha256 FROM telemetry_token').pluck().get()
  return {
    revokedCredentials: ids('SELECT id FROM credentials WHERE revoked_at IS NOT NULL'),
    disabledAgents: ids("SELECT id FROM agents WHERE state = 'disabled'"),
    deletedProjects: ids(
      `SELECT id FROM projects WHERE deleted_at IS NOT NULL
        UNION SELECT subject_id FROM audit WHERE kind = 'project.deleted' AND subject_id IS NOT NULL`,
    ),
    disabledPairs: rows<PairingRow>('SELECT * FROM pairings WHERE enabled = 0'),
    people: new Map(people.map(({ id, ...person }) => [id, person])),
    assignments: ids("SELECT user_id || ' ' || project_id FROM project_administrators"),
    recipientKeys: new Map(keys.map((key) => [key.agent_id, key])),
    telemetryToken: token,
    generation: highestGeneration(database),
    newest: newestRecord(database),
  }
}

export const highestGeneration = (database: Database.Database): number =>
  database.prepare<[], number>('SELECT coalesce(max(session_generation), 0) FROM agents').pluck().get() ?? 0

/** Time of the last audit record, or of the installation if there is none. */
export const newestRecord = (database: Database.Database): string =>
  database
    .prepare<[], string>(
      'SELECT at FROM (SELECT at FROM audit ORDER BY id DESC LIMIT 1) UNION ALL SELECT created_at FROM server',
    )
    .pluck()
    .get() ?? ''
