/**
 * A database in the state after the 47 migrations before the baseline, with rows that a server of that
 * version wrote.
 */
import { readFileSync } from 'node:fs'
import type Database from 'better-sqlite3'
import { openDatabase } from '../../../server/database/sqlite/open.ts'

const text = readFileSync(new URL('./before-baseline.sql', import.meta.url), 'utf8')

/** The time at which its last row was written. */
export const writtenAt = new Date('2026-06-01T12:00:02.000Z')

/** Writes the database to `path` and returns it open. */
export function databaseBeforeBaseline(path: string): Database.Database {
  const database = openDatabase(path)
  database.pragma('foreign_keys = OFF')
  database.exec(`BEGIN; ${text} COMMIT`)
  database.pragma('foreign_keys = ON')
  return database
}
