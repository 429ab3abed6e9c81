import { join } from 'node:path'
import Database from 'better-sqlite3'

/**
 * Changes rows without notifying the server: rows that a test needs to be old must have been stored long ago.
 */
export function tamper<T = unknown>(data: string, act: (database: Database.Database) => T): T {
  const database = new Database(join(data, 'bridge.db'), { timeout: 5000 })
  // Rows that a test deletes are overwritten too.
  database.pragma('secure_delete = ON')
  try {
    return act(database)
  } finally {
    database.close()
  }
}

export const daysAgo = (days: number): string => new Date(Date.now() - days * 86_400_000).toISOString()
