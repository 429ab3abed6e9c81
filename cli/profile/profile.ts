/**
 * Reads and writes the profile files for commands. An unusable file becomes an error that says what to do.
 *
 * Contract §12.
 */
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { ProfilePaths, ProfileRecord } from '../../sdk/profile/profile-files.ts'
import * as files from '../../sdk/profile/profile-files.ts'
import { CommandError } from '../exit-codes.ts'
import { readJson, writeJson } from './json-file.ts'

/** Paths of the profile's folder and files. @throws CommandError for a name that is not a plain file name. */
export function profilePaths(home: string, name: string): ProfilePaths {
  if (files.isProfileName(name)) return files.profileFiles(home, name)
  throw new CommandError('usage', `a profile name may contain only letters, digits, and _ . - ; got: ${name}`)
}

/**
 * The stored identity of a profile, or undefined. @throws CommandError when the stored file is not usable.
 */
export async function readProfile(paths: ProfilePaths): Promise<ProfileRecord | undefined> {
  const hint = 'bridge enroll --url URL --replace writes a new one, with a new code from the owner'
  const stored = await readJson(paths.record, 'authentication', hint)
  if (stored === undefined) return undefined
  if (files.isProfile(stored)) return stored
  throw new CommandError('authentication', `${paths.record} is not a complete profile`, { hint })
}

/** Commands that exist also as `bridge server …`. Someone without a profile may have meant those. */
export const hostCommands: ReadonlySet<string> = new Set(['status', 'doctor'])
/** Commands that exist also as `bridge admin …`. */
export const ownerCommands: ReadonlySet<string> = new Set([
  ...['whoami', 'conversations', 'inbox', 'history', 'reply', 'ack', 'status'],
  ...['task create', 'task list', 'task show', 'task cancel'],
  ...['transfer list', 'transfer show', 'transfer cancel'],
])

/**
 * {@link readProfile}; a missing profile is an error. `command` is the words typed, for its hint. @throws
 * CommandError
 */
export async function requireProfile(
  paths: ProfilePaths,
  name: string,
  command = '',
): Promise<ProfileRecord> {
  const profile = await readProfile(paths)
  if (profile !== undefined) return profile
  const others = enrolledBeside(paths)
  const isOwner = existsSync(join(paths.folder, 'owner.json'))
  const ways = [
    ...(isOwner && ownerCommands.has(command)
      ? [`an owner is signed in here: bridge admin ${command} acts for the owner`]
      : []),
    ...(others.length === 0 ? [] : [`--profile can choose one of ${others.join(', ')}`]),
    'bridge enroll --url URL creates one, with a code from the owner',
    ...(hostCommands.has(command) ? [`bridge server ${command} is for a node on this machine`] : []),
  ]
  throw new CommandError('authentication', `no identity in the profile ${name}`, { hint: ways.join('; ') })
}

const namesIn = (folder: string): string[] => {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

const namedAtMost = 8

/** Names of at most 8 profiles of this home that have an identity. */
export function enrolledBeside({ folder }: ProfilePaths): string[] {
  const names = namesIn(dirname(folder)).filter(files.isProfileName).sort()
  const found: string[] = []
  for (const name of names) {
    if (existsSync(join(dirname(folder), name, 'profile.json'))) found.push(name)
    if (found.length === namedAtMost) return [...found, '…']
  }
  return found
}

/**
 * Writes the key under its own name, then the record that names it. Then it deletes the keys that no record
 * names. If the process is killed at any point, the same enrolment can be repeated, because the pending key
 * stays until the record names the new key.
 */
export async function writeProfile(paths: ProfilePaths, record: ProfileRecord, pem: string): Promise<void> {
  const { writeDurably } = await import('../../sdk/program.ts')
  await writeDurably(paths.key(record.identity.credential_id), pem)
  // The session and the known peers belong to the old identity.
  rmSync(paths.session, { force: true })
  rmSync(paths.peers, { force: true })
  await writeJson(paths.record, record)
  dropKeys(paths, record, /^(key|pending)-.*\.pem$/)
}

/**
 * Deletes the leftovers of a killed {@link writeProfile}. Keys of other codes stay, as their enrolment may be
 * running.
 */
export function tidyProfile(paths: ProfilePaths, record: ProfileRecord): void {
  rmSync(paths.pendingKey(record.code_sha256), { force: true })
  dropKeys(paths, record, /^key-.*\.pem$/)
}

function dropKeys(paths: ProfilePaths, { identity }: ProfileRecord, names: RegExp): void {
  const current = paths.key(identity.credential_id)
  for (const file of readdirSync(paths.folder)) {
    const path = join(paths.folder, file)
    if (names.test(file) && path !== current) rmSync(path, { force: true })
  }
}
