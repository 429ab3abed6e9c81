/** Paths in a data folder, and the installation's id in its database. */
import { existsSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { MoveUnfinishedError } from '../database/moved.ts'
import { makePrivateFolder } from './private-folder.ts'

export const databasePath = (data: string): string => join(data, 'bridge.db')
/** The running server writes its address here for other processes of this host. */
export const addressPath = (data: string): string => join(data, 'server.json')

/** Last ids that a PostgreSQL database confirmed to the server, see database/postgres/witness.ts. */
export const witnessPath = (data: string): string => join(data, 'witness.json')

/** Note of a restore that is replacing the database, see backups/replacing.ts. */
export const restoreNotePath = (data: string): string => join(data, 'restore.json')

/** A restore is running or was interrupted, so the database files are about to move. */
export class RestoreUnfinishedError extends Error {
  override readonly name = 'RestoreUnfinishedError'
}

/** @throws RestoreUnfinishedError */
export function requireNoRestore(data: string): void {
  if (!existsSync(restoreNotePath(data))) return
  throw new RestoreUnfinishedError(
    `a restore into ${data} is running or was interrupted; the next start of the server finishes it`,
  )
}

/** Note of a move that is filling the folder; see host/moves/to-folder.ts. */
export const moveNotePath = (data: string): string => join(data, 'move.json')

/** @throws MoveUnfinishedError */
export function requireNoMove(data: string): void {
  if (!existsSync(moveNotePath(data))) return
  throw new MoveUnfinishedError(`a move into ${data} is running or was interrupted`)
}

/** The folder holds no installation. */
export class NotInitialisedError extends Error {
  override readonly name = 'NotInitialisedError'
}

/** The folder holds an installation already. */
export class AlreadyInitialisedError extends Error {
  override readonly name = 'AlreadyInitialisedError'
}

/** The database of PostgreSQL holds an installation already. */
export class DatabaseInitialisedError extends Error {
  override readonly name = 'DatabaseInitialisedError'
}

/** Writes a secret file with mode 0600. Missing folders are made with mode 0700. Fails if the file exists. */
export function writeSecretFile(path: string, text: string): void {
  makePrivateFolder(dirname(path))
  writeFileSync(path, text, { mode: 0o600, flag: 'wx' })
}
