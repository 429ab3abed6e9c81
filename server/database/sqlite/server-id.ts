/** The id of the installation in SQLite. */
import type Database from 'better-sqlite3'

export function readServerId(database: Database.Database): string | undefined {
  return database.prepare<[], string>('SELECT server_id FROM server').pluck().get()
}

export function insertServer(database: Database.Database, serverId: string, now: Date): void {
  database
    .prepare('INSERT INTO server (one, server_id, created_at) VALUES (1, ?, ?)')
    .run(serverId, now.toISOString())
}
