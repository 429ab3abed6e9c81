/** What a data folder holds, and the installation's id in it. */
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type Database from 'better-sqlite3'
import { makePrivateFolder } from './private-folder.ts'

export const databasePath = (data: string): string => join(data, 'bridge.db')
/** Where the running server tells other processes of this host its address. */
export const addressPath = (data: string): string => join(data, 'server.json')

/** The folder holds no installation. */
export class NotInitialised extends Error {
  override readonly name = 'NotInitialised'
}

/** The folder holds an installation already. */
export class AlreadyInitialised extends Error {
  override readonly name = 'AlreadyInitialised'
}

/** A secret file: 0600, in a folder that is 0700 when it is made here; never over an existing one. */
export function writeSecretFile(path: string, text: string): void {
  makePrivateFolder(dirname(path))
  writeFileSync(path, text, { mode: 0o600, flag: 'wx' })
}

export function readServerId(database: Database.Database): string | undefined {
  return database.prepare<[], string>('SELECT server_id FROM server').pluck().get()
}

export function insertServer(database: Database.Database, serverId: string, now: Date): void {
  database
    .prepare('INSERT INTO server (one, server_id, created_at) VALUES (1, ?, ?)')
    .run(serverId, now.toISOString())
}
