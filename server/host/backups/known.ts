/**
 * What the database that is replaced knew of taking away: its word is later than the backup's.
 *
 * Only what takes something away is carried over, so that a restore gives nothing back that was revoked. Where nothing is
 * replaced, or it cannot be read, nobody knows: see `restorations.ts`.
 */
import type Database from 'better-sqlite3'
import { migrationStatus } from '../../database/migrate.ts'
import type { OwnerUserRow } from '../../database/node-tables.ts'
import { openDatabase } from '../../database/open.ts'
import type { PairingRow, RecipientKeyRow } from '../../database/tables.ts'
import { readServerId } from '../data-folder.ts'

export interface Known {
  readonly revokedCredentials: ReadonlySet<string>
  readonly disabledAgents: ReadonlySet<string>
  readonly deletedProjects: ReadonlySet<string>
  readonly disabledPairs: readonly PairingRow[]
  readonly people: ReadonlyMap<string, Pick<OwnerUserRow, 'state' | 'password'>>
  /** `user project`. */
  readonly assignments: ReadonlySet<string>
  readonly recipientKeys: ReadonlyMap<string, RecipientKeyRow>
  readonly telemetryToken: Buffer | undefined
  /** The highest of its sessions. */
  readonly generation: number
  /** When it was last written to. */
  readonly newest: string
}

/** Undefined when it is of another installation, or cannot be read. */
export function readKnown(path: string, serverId: string): Known | undefined {
  let database: Database.Database | undefined
  try {
    database = openDatabase(path, { readonly: true })
    if (migrationStatus(database).length === 0 || readServerId(database) !== serverId) return undefined
    return read(database)
  } catch {
    // Damaged, or of another time: then the owner has to say what may go on.
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

/** When the last thing happened that the audit tells; the installation itself where it tells nothing. */
export const newestRecord = (database: Database.Database): string =>
  database
    .prepare<[], string>(
      'SELECT at FROM (SELECT at FROM audit ORDER BY id DESC LIMIT 1) UNION ALL SELECT created_at FROM server',
    )
    .pluck()
    .get() ?? ''
