/**
 * Record of an installation: `BRIDGE_HOME/hooks/<harness>.json`. `hooks run` reads `profile` and `folders`,
 * `hooks uninstall` the rest.
 *
 * Install writes the record before it changes a file, with the state before and after the change. So after a
 * kill at any point, the record still tells which bytes are ours.
 */
import { createHash } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { CommandError } from '../../exit-codes.ts'
import { readJson, writeJson } from '../../profile/json-file.ts'
import { takeLock } from '../../profile/lock.ts'
import type { Entry } from './entries.ts'

export interface Installation {
  readonly harness: string
  /** Profile of sessions outside of `folders`; null if only folders are bound. */
  readonly profile: string | null
  /** Profile by folder: sessions in it and below use this profile. */
  readonly folders: Readonly<Record<string, string>>
  readonly node: string
  readonly program: string
  readonly installed_at: string
  readonly mcp: boolean
  readonly allow: 'read' | 'none'
  readonly files: readonly OwnRecord[]
  /** Folders that we made, outermost first. */
  readonly made: readonly string[]
  readonly shared: readonly SharedRecord[]
}

export interface OwnRecord {
  readonly path: string
  readonly sha256: string
  /** Hash before a change that may not have been made; null if there was no file. */
  readonly was?: string | null
}

export interface SharedRecord {
  readonly path: string
  readonly format: 'json' | 'toml'
  readonly entries: readonly Entry[]
  /** Bytes before our entries, as base64; null if there was no file. */
  readonly original: string | null
  /** Hash of the file with our entries. */
  readonly sha256: string
  /** State before a change that may not have been made. */
  readonly was?: SharedRecord
}

export const sha256 = (bytes: Buffer | string): string => createHash('sha256').update(bytes).digest('hex')

export const recordPath = (home: string, harness: string): string => join(home, 'hooks', `${harness}.json`)

/** Returns the record, or undefined if the hooks are not installed. @throws CommandError for an unusable file */
export async function readRecord(home: string, harness: string): Promise<Installation | undefined> {
  const path = recordPath(home, harness)
  const found = await readJson(path, 'unexpected')
  if (found === undefined) return undefined
  if (Array.isArray(found.files) && Array.isArray(found.shared) && typeof found.node === 'string')
    return found as unknown as Installation
  throw new CommandError('unexpected', `${path} is not the record of an installation`)
}

export const writeRecord = (home: string, record: Installation): Promise<void> =>
  writeJson(recordPath(home, record.harness), record)

export async function removeRecord(home: string, harness: string): Promise<void> {
  await rm(recordPath(home, harness), { force: true })
}

/** Runs an action that no other install or uninstall runs at the same time. @throws CommandError `conflict` */
export async function alone<T>(home: string, act: () => Promise<T>): Promise<T> {
  const { makePrivateFolder } = await import('../../../sdk/program.ts')
  const path = join(home, 'hooks', 'install.lock')
  await makePrivateFolder(dirname(path))
  const lock = await takeLock(path)
  if (lock === undefined) throw new CommandError('conflict', 'another hooks install or uninstall is running')
  try {
    return await act()
  } finally {
    lock.release()
  }
}
