/**
 * Files of a profile, which stores one identity: `BRIDGE_HOME/profiles/<name>/`, folders 0700, files 0600.
 * The program `bridge` and scripts share them.
 *
 * - `profile.json`: node, ids, instance id. It is written only at enrolment.
 * - `key-<credential id>.pem`: the private key. Named by its credential, so that a re-enrolment never mixes
 *   old and new.
 * - `pending-<hash of the code>.pem`: a key during its enrolment. It is stored before the request, so a lost
 *   answer can be repeated.
 * - `session.json`, `peers.json`: the session, and a cache of the peers. All processes of the profile share them.
 * - `age.key`: the age identity that decrypts messages and files for this agent, in the file format of age.
 * - `transfers/`: state of transfers that are running.
 * - `claims/`: the claims of tasks that this profile took.
 * - `outbox/`, `journal.jsonl`, `listen.lock`, and `asks/`, a lock file per question that an `ask` waits for.
 * - `first-uses/`: parts of requests that a retry with the same idempotency key repeats.
 * - `seen/`, `seen-by-owner/`: ids that the program printed, so that their ends name them.
 *
 * This module imports almost nothing, because every command loads it. It reads these small files synchronously:
 * loading `node:fs/promises` takes 2 ms.
 *
 * Contract §12.
 */
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import type { DirectoryStore, KnownPeers } from '../agent/directory.ts'
import type { IdentityRecord } from '../agent/identity.ts'
import type { SessionStore, StoredSession } from '../agent/session.ts'
import { shellWord } from '../contract/spelling.ts'

export interface ProfileRecord {
  readonly base_url: string
  readonly allow_plain_http: boolean
  /** Certificate authority of the node in PEM, if the enrolment named one. */
  readonly ca?: string | undefined
  /** Identifies this profile to the node at every session start. */
  readonly instance_id: string
  /** Hash of the enrolment code, so that the same enrolment can be repeated. */
  readonly code_sha256: string
  /** The X-Bridge-Device of a device-bound identity. */
  readonly device: string | null
  readonly identity: IdentityRecord
}

/** Returns BRIDGE_HOME, else the XDG folder, else `~/.config/agent-bridge`. */
export function profilesHome(
  { BRIDGE_HOME, XDG_CONFIG_HOME }: Readonly<Record<string, string | undefined>>,
  homeDirectory: string,
): string {
  if (BRIDGE_HOME !== undefined && BRIDGE_HOME !== '') return BRIDGE_HOME
  // "All paths set in these environment variables must be absolute" (XDG base directories).
  const base = XDG_CONFIG_HOME !== undefined && isAbsolute(XDG_CONFIG_HOME) ? XDG_CONFIG_HOME : undefined
  return join(base ?? join(homeDirectory, '.config'), 'agent-bridge')
}

/** Returns true if the name is a plain file name of at most 64 characters. */
export const isProfileName = (name: string): boolean => /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/.test(name)

/** Returns the paths of a profile. Reads nothing. */
export function profileFiles(home: string, name: string) {
  const folder = join(home, 'profiles', name)
  return {
    folder,
    record: join(folder, 'profile.json'),
    session: join(folder, 'session.json'),
    peers: join(folder, 'peers.json'),
    pendingKey: (codeSha256: string) => join(folder, `pending-${codeSha256.slice(0, 16)}.pem`),
    key: (credentialId: string) => join(folder, `key-${credentialId}.pem`),
    ageKey: join(folder, 'age.key'),
    transfers: join(folder, 'transfers'),
    claims: join(folder, 'claims'),
    outbox: join(folder, 'outbox'),
    journal: join(folder, 'journal.jsonl'),
    lock: join(folder, 'listen.lock'),
    asks: join(folder, 'asks'),
    firstUses: join(folder, 'first-uses'),
    seen: join(folder, 'seen'),
    seenByOwner: join(folder, 'seen-by-owner'),
  }
}
export type ProfilePaths = ReturnType<typeof profileFiles>

const words = ['base_url', 'instance_id', 'code_sha256'] as const

export function isProfile(
  stored: Record<string, unknown>,
): stored is ProfileRecord & Record<string, unknown> {
  const { identity } = stored as { identity?: Partial<IdentityRecord> }
  return (
    words.every((name) => typeof stored[name] === 'string') &&
    typeof stored.allow_plain_http === 'boolean' &&
    (stored.ca === undefined || typeof stored.ca === 'string') &&
    (stored.device === null || typeof stored.device === 'string') &&
    typeof identity?.server_id === 'string' &&
    typeof identity.credential_id === 'string' &&
    typeof identity.agent?.id === 'string' &&
    typeof identity.project?.id === 'string' &&
    typeof identity.binding === 'string'
  )
}

/** Replaces a private file atomically. The last of several concurrent writers wins. */
export type Write = (path: string, value: object) => Promise<void>

/** Returns the session store that all processes of the profile share. */
export function profileSessions(
  { session: path }: ProfilePaths,
  blank: StoredSession,
  write: Write,
): SessionStore {
  return {
    load: async () => {
      const stored = (await learnt(path)) as Partial<StoredSession> | undefined
      return { ...blank, ...stored, instance_id: blank.instance_id }
    },
    save: (session) => write(path, session),
  }
}

/**
 * Returns the peer directory that all processes of the profile share. It is a cache: if it cannot be written,
 * as on a full or read-only disk, the command continues, and the next one asks the node.
 */
export function profileDirectory(
  { peers: path }: ProfilePaths,
  nobody: KnownPeers,
  write: Write,
): DirectoryStore {
  return {
    load: async () => {
      const stored = (await learnt(path)) as Partial<KnownPeers> | undefined
      return Array.isArray(stored?.peers) ? { ...nobody, ...stored } : nobody
    },
    save: (known) => write(path, known).catch(() => {}),
  }
}

/** Reads a cache file. A damaged one counts as missing, since the node has the data. */
async function learnt(path: string): Promise<object | undefined> {
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'))
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Text of a key file, or its problem and a remedy. */
export type KeyFile =
  | { readonly pem: string }
  | { readonly problem: string; readonly remedy?: string; readonly isMissing?: true }

/**
 * Reads a private key from a regular file with mode 0600, never through a symbolic link. If other users may
 * read the file, the key is refused and the mode is not repaired, since somebody may already have read it.
 */
export async function readKey(path: string): Promise<KeyFile> {
  let file: number
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW)
  } catch (error) {
    return unopened(path, (error as NodeJS.ErrnoException).code ?? 'unknown error')
  }
  try {
    const { mode } = fstatSync(file)
    if ((mode & constants.S_IFMT) !== constants.S_IFREG) {
      return { problem: `the private key ${path} is not a regular file` }
    }
    if ((mode & 0o077) === 0) return { pem: readFileSync(file, 'utf8') }
    const octal = (mode & 0o777).toString(8).padStart(4, '0')
    const remedy = `if no other user has read it: chmod 600 ${shellWord(path)}`
    return { problem: `the private key ${path} is open to others (mode ${octal})`, remedy }
  } finally {
    closeSync(file)
  }
}

function unopened(path: string, code: string): KeyFile {
  if (code === 'ENOENT') {
    const remedy = 'without it the identity is lost: ask the owner for a new enrolment'
    return { problem: `the private key ${path} is missing`, remedy, isMissing: true }
  }
  if (code === 'ELOOP') return { problem: `the private key ${path} is a symbolic link` }
  const problem = `the private key ${path} cannot be read (${code})`
  return code === 'EACCES'
    ? { problem, remedy: `run as its owner, or: chmod 600 ${shellWord(path)}` }
    : { problem }
}
