/**
 * Where an identity lives on a machine: `BRIDGE_HOME/profiles/<name>/`, folders 0700, files 0600. The program `bridge` and
 * scripts share it.
 *
 * - `profile.json`: node, ids, instance id; written at enrolment only.
 * - `key-<credential id>.pem`: the private key. Named by its credential, so that a re-enrolment never mixes old and new.
 * - `pending-<of the code>.pem`: a key that is being enrolled. Stored before the node is asked, so a lost answer costs
 *   nothing.
 * - `session.json`, `peers.json`: what was learnt last; shared by all processes of the profile.
 * - `age.key`: the age identity that opens what was sealed to this agent; an identity file as every age program reads.
 * - `transfers/`: what files that are being sent or received leave on this machine until that is over.
 * - `claims/`: which claims of tasks this profile took.
 * - `outbox/`, `journal.jsonl`, `listen.lock`; `asks/`, a lock for each question that an `ask` waits for.
 *
 * It loads next to nothing: every command reads these files.
 *
 * Contract §12.
 */
import { constants } from 'node:fs'
import { type FileHandle, open, readFile } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import type { DirectoryStore, KnownPeers } from '../agent/directory.ts'
import type { IdentityRecord } from '../agent/identity.ts'
import type { SessionStore, StoredSession } from '../agent/session.ts'

export interface ProfileRecord {
  readonly base_url: string
  readonly allow_plain_http: boolean
  /** Names this profile to the node at every session start. */
  readonly instance_id: string
  /** Of the enrolment code, so that the same enrolment can be repeated. */
  readonly code_sha256: string
  /** The X-Bridge-Device of a device-bound identity. */
  readonly device: string | null
  readonly identity: IdentityRecord
}

/** BRIDGE_HOME, else the XDG folder, else `~/.config/agent-bridge`. */
export function profilesHome(
  { BRIDGE_HOME, XDG_CONFIG_HOME }: Readonly<Record<string, string | undefined>>,
  homeDirectory: string,
): string {
  if (BRIDGE_HOME !== undefined && BRIDGE_HOME !== '') return BRIDGE_HOME
  // "All paths set in these environment variables must be absolute" (XDG base directories).
  const base = XDG_CONFIG_HOME !== undefined && isAbsolute(XDG_CONFIG_HOME) ? XDG_CONFIG_HOME : undefined
  return join(base ?? join(homeDirectory, '.config'), 'agent-bridge')
}

/** A plain file name. */
export const isProfileName = (name: string): boolean => /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/.test(name)

/** The folder and its files; nothing is read yet. */
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
    (stored.device === null || typeof stored.device === 'string') &&
    typeof identity?.server_id === 'string' &&
    typeof identity.credential_id === 'string' &&
    typeof identity.agent?.id === 'string' &&
    typeof identity.project?.id === 'string' &&
    typeof identity.binding === 'string'
  )
}

/** Replaces a whole private file. Concurrent writers: the last one wins, and no reader sees half of it. */
export type Write = (path: string, value: object) => Promise<void>

/** The session that all processes of the profile share. */
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

/** What was learnt of peers. */
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
    save: (known) => write(path, known),
  }
}

/** These files hold only what can be learnt again: a broken one is as good as none. */
async function learnt(path: string): Promise<object | undefined> {
  try {
    const value: unknown = JSON.parse(await readFile(path, 'utf8'))
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** A key file's text, or what is wrong with it and what may help. */
export type KeyFile =
  | { readonly pem: string }
  | { readonly problem: string; readonly remedy?: string; readonly isMissing?: true }

/**
 * A private key: 0600, in no other form, and never through a symbolic link. One that others may read is refused, not
 * repaired: who read it is unknown.
 */
export async function readKey(path: string): Promise<KeyFile> {
  let file: FileHandle
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW)
  } catch (error) {
    return unopened(path, (error as NodeJS.ErrnoException).code ?? 'unknown error')
  }
  try {
    const { mode } = await file.stat()
    if ((mode & constants.S_IFMT) !== constants.S_IFREG) {
      return { problem: `the private key ${path} is not a regular file` }
    }
    if ((mode & 0o077) === 0) return { pem: await file.readFile('utf8') }
    const octal = (mode & 0o777).toString(8).padStart(4, '0')
    const remedy = `if nobody read it: chmod 600 ${path}`
    return { problem: `the private key ${path} is open to others (mode ${octal})`, remedy }
  } finally {
    await file.close()
  }
}

function unopened(path: string, code: string): KeyFile {
  if (code === 'ENOENT') {
    const remedy = 'without it the identity is lost: ask the owner for a new enrolment'
    return { problem: `the private key ${path} is missing`, remedy, isMissing: true }
  }
  if (code === 'ELOOP') return { problem: `the private key ${path} is a symbolic link` }
  const problem = `the private key ${path} cannot be read (${code})`
  return code === 'EACCES' ? { problem, remedy: `run as its owner, or: chmod 600 ${path}` } : { problem }
}
