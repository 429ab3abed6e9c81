/** What a data folder holds, and the installation's id in it. */
import { existsSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type Database from 'better-sqlite3'
import { makePrivateFolder } from './private-folder.ts'

export const databasePath = (data: string): string => join(data, 'bridge.db')
/** Where the running server tells other processes of this host its address. */
export const addressPath = (data: string): string => join(data, 'server.json')

/** Says that a restore is under way, and what it has to move; see backups/replacing.ts. */
export const restoreNotePath = (data: string): string => join(data, 'restore.json')

/** A restore is under way, or was cut off: the files of the store are about to move. */
export class RestoreUnfinishedError extends Error {
  override readonly name = 'RestoreUnfinishedError'
}

/** @throws RestoreUnfinishedError */
export function requireNoRestore(data: string): void {
  if (!existsSync(restoreNotePath(data))) return
  throw new RestoreUnfinishedError(
    `a restore into ${data} is under way, or was cut off; the next start of the server brings it to its end`,
  )
}

/** The folder holds no installation. */
export class NotInitialisedError extends Error {
  override readonly name = 'NotInitialisedError'
}

/** The folder holds an installation already. */
export class AlreadyInitialisedError extends Error {
  override readonly name = 'AlreadyInitialisedError'
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
