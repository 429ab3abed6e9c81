/**
 * The data folder into which an installation moves. A note in it names the move until the folder is complete,
 * and no node starts there until then.
 */
import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import type { Config } from '../../config.ts'
import { TargetNotEmptyError } from '../../database/moved.ts'
import { type SettingName, settings } from '../../settings.ts'
import { databasePath, moveNotePath } from '../../storage/data-folder.ts'
import { sync } from '../backups/new-file.ts'

export interface MoveNote {
  readonly server_id: string
  readonly move_id: string
}

export const unfinishedPath = (folder: string): string => join(folder, 'moving.db')

const own = /^lock\.db(?:-journal)?$/

/** Requires an empty folder, or the rest of a killed move of this installation. @throws TargetNotEmptyError */
export function requireEmptyFolder(folder: string, serverId: string): void {
  if (!existsSync(folder)) return
  const names = readdirSync(folder).filter((name) => !own.test(name))
  if (names.length === 0 || readNote(folder)?.server_id === serverId) return
  throw new TargetNotEmptyError(`the folder ${folder} holds other files, such as ${names.sort()[0]}`)
}

/** Removes what an unfinished move wrote. The note goes last. */
export function clearFolder(folder: string): void {
  const names = readdirSync(folder).filter((name) => !own.test(name))
  for (const name of names.filter((each) => join(folder, each) !== moveNotePath(folder)))
    rmSync(join(folder, name), { recursive: true, force: true })
  rmSync(moveNotePath(folder), { force: true })
}

export function readNote(folder: string): MoveNote | undefined {
  try {
    return JSON.parse(readFileSync(moveNotePath(folder), 'utf8')) as MoveNote
  } catch {
    // Missing, or half written: then the move had written nothing else.
    return undefined
  }
}

export function writeNote(folder: string, note: MoveNote): void {
  const path = moveNotePath(folder)
  writeFileSync(`${path}-new`, `${JSON.stringify(note)}\n`, { mode: 0o600 })
  sync(`${path}-new`)
  renameSync(`${path}-new`, path)
  sync(folder)
}

/** Makes the folder one from which a node starts. May run again after a kill. */
export function publish(folder: string): void {
  if (existsSync(unfinishedPath(folder))) renameSync(unfinishedPath(folder), databasePath(folder))
  sync(folder)
  rmSync(moveNotePath(folder), { force: true })
  sync(folder)
}

/** Copies the envelope key, and the settings but those of the database. Paths of files become absolute. */
export function copySettings(from: Pick<Config, 'data' | 'envelopeKeyFile'>, folder: string): void {
  const key = join(folder, 'envelope.key')
  if (existsSync(from.envelopeKeyFile)) {
    copyFileSync(from.envelopeKeyFile, key)
    sync(key)
  }
  const path = join(from.data, 'config.json')
  if (!existsSync(path)) return
  const kept = Object.entries(JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>)
    .filter(([name]) => !replaced.has(name))
    .map(([name, value]) => [name, files.has(name) ? resolve(from.data, String(value)) : value])
  const copy = join(folder, 'config.json')
  writeFileSync(copy, `${JSON.stringify(Object.fromEntries(kept), undefined, 2)}\n`, { mode: 0o600 })
  sync(copy)
}

const replaced = new Set<string>([
  'database',
  'database_url_file',
  'database_listen_url',
  'database_listen_url_file',
  'envelope_key_file',
] satisfies SettingName[])
const files = new Set<string>(settings.filter(({ kind }) => kind === 'file').map(({ name }) => name))
