/**
 * The profile of a command: its files are those of sdk/storage/profile-files.ts; what is wrong with them is told with a way out.
 *
 * Contract §12.
 */
import { access, readdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { DirectoryStore, KnownPeers, SessionStore, StoredSession } from '../../sdk/index.ts'
import type { ProfilePaths, ProfileRecord } from '../../sdk/storage/profile-files.ts'
import * as files from '../../sdk/storage/profile-files.ts'
import { CommandError } from '../exit-codes.ts'
import { readJson, writeJson } from './json-file.ts'

/** The session that all processes of the profile share. */
export const profileSessions = (paths: ProfilePaths, blank: StoredSession): SessionStore =>
  files.profileSessions(paths, blank, writeJson)

/** What was learnt of peers. */
export const profileDirectory = (paths: ProfilePaths, nobody: KnownPeers): DirectoryStore =>
  files.profileDirectory(paths, nobody, writeJson)

/** The folder and its files; nothing is read yet. @throws CommandError for a name that is no plain file name. */
export function profilePaths(home: string, name: string): ProfilePaths {
  if (files.isProfileName(name)) return files.profileFiles(home, name)
  throw new CommandError('usage', `a profile's name is letters, digits, and _ . - ; this is not: ${name}`)
}

/** The stored identity of a profile, or undefined. @throws CommandError when what is stored is not usable. */
export async function readProfile(paths: ProfilePaths): Promise<ProfileRecord | undefined> {
  const hint = 'bridge enroll --url URL --replace with a new code of the owner writes it again'
  const stored = await readJson(paths.record, 'authentication', hint)
  if (stored === undefined) return undefined
  if (files.isProfile(stored)) return stored
  throw new CommandError('authentication', `${paths.record} is not a whole profile`, { hint })
}

/** Commands of the same word that need no agent: what is typed without a profile may mean them. */
export const ofTheNode: ReadonlySet<string> = new Set(['status', 'doctor'])
export const ofTheOwner: ReadonlySet<string> = new Set([
  ...['whoami', 'conversations', 'history', 'ack', 'status'],
  ...['task create', 'task list', 'task show', 'task cancel'],
  ...['transfer list', 'transfer show', 'transfer cancel'],
])

/** {@link readProfile}, where there must be one. `command`: the words that were typed. */
export async function requireProfile(
  paths: ProfilePaths,
  name: string,
  command = '',
): Promise<ProfileRecord> {
  const profile = await readProfile(paths)
  if (profile !== undefined) return profile
  const others = await enrolledBeside(paths)
  const isOwner = await isThere(join(paths.folder, 'owner.json'))
  const ways = [
    ...(isOwner && ofTheOwner.has(command)
      ? [`bridge admin ${command} is the owner's, who is signed in here`]
      : []),
    ...(others.length === 0 ? [] : [`--profile names one of ${others.join(', ')}`]),
    'bridge enroll --url URL makes one, with a code of the owner',
    ...(ofTheNode.has(command) ? [`bridge server ${command} is for a node of this machine`] : []),
  ]
  throw new CommandError('authentication', `no identity in the profile ${name}`, { hint: ways.join('; ') })
}

const namedAtMost = 8

/** The profiles of this home that have an identity. */
async function enrolledBeside({ folder }: ProfilePaths): Promise<string[]> {
  const names = (await readdir(dirname(folder)).catch(() => [])).filter(files.isProfileName).sort()
  const found: string[] = []
  for (const name of names) {
    if (await isThere(join(dirname(folder), name, 'profile.json'))) found.push(name)
    if (found.length === namedAtMost) return [...found, '…']
  }
  return found
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

/**
 * The key under its own name, then the record that names it; what no record names goes last. Killed anywhere, the same
 * enrolment can be made again: its pending key stays until the record names the key.
 */
export async function writeProfile(paths: ProfilePaths, record: ProfileRecord, pem: string): Promise<void> {
  const { writeDurably } = await import('../../sdk/index.ts')
  await writeDurably(paths.key(record.identity.credential_id), pem)
  // Nothing learnt with the old identity holds for the new one.
  await rm(paths.session, { force: true })
  await rm(paths.peers, { force: true })
  await writeJson(paths.record, record)
  await dropKeys(paths, record, /^(key|pending)-.*\.pem$/)
}

/** What {@link writeProfile} left where it was killed. Keys of other codes stay: their enrolment may be under way. */
export async function tidyProfile(paths: ProfilePaths, record: ProfileRecord): Promise<void> {
  await rm(paths.pendingKey(record.code_sha256), { force: true })
  await dropKeys(paths, record, /^key-.*\.pem$/)
}

async function dropKeys(paths: ProfilePaths, { identity }: ProfileRecord, names: RegExp): Promise<void> {
  const current = paths.key(identity.credential_id)
  for (const file of await readdir(paths.folder)) {
    const path = join(paths.folder, file)
    if (names.test(file) && path !== current) await rm(path, { force: true })
  }
}
