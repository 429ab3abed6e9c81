/** The row of the installation in SQLite. */
import type Database from 'better-sqlite3'

export function readServerId(database: Database.Database): string | undefined {
  return database.prepare<[], string>('SELECT server_id FROM server').pluck().get()
}

/** Returns the check value of the envelope key. Null if the installation was never on PostgreSQL. */
export const readKeyCheck = (database: Database.Database): string | null =>
  database.prepare<[], string | null>('SELECT envelope_key_check FROM server').pluck().get() ?? null

export function insertServer(database: Database.Database, serverId: string, now: Date): void {
  database
    .prepare('INSERT INTO server (one, server_id, created_at) VALUES (1, ?, ?)')
    .run(serverId, now.toISOString())
}
