/**
 * Where an identity lives on this machine: `BRIDGE_HOME/profiles/<name>/`, folders 0700, files 0600.
 *
 * - `profile.json`: node, ids, instance id; written at enrolment only.
 * - `key-<credential id>.pem`: the private key. Named by its credential, so that a re-enrolment never mixes old and new.
 * - `pending-<of the code>.pem`: a key that is being enrolled. Stored before the node is asked, so a lost answer costs
 *   nothing.
 * - `session.json`, `peers.json`: what the last commands learnt; shared by all processes of the profile.
 * - `claims/`: which claims of tasks this profile took.
 * - `outbox/`, `journal.jsonl`, `listen.lock`; `asks/`, a lock for each question that an `ask` waits for.
 *
 * Contract §12.
 */
import { readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { DirectoryStore, IdentityRecord, KnownPeers, SessionStore, StoredSession } from '../sdk/index.ts'
import { CommandFailure } from './exit-codes.ts'
import { readJson, writeJson } from './json-file.ts'

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

/** The folder and its files; nothing is read yet. @throws CommandFailure for a name that is no plain file name. */
export function profilePaths(home: string, name: string) {
  if (!/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/.test(name)) {
    throw new CommandFailure('usage', `a profile's name is letters, digits, and _ . - ; this is not: ${name}`)
  }
  const folder = join(home, 'profiles', name)
  return {
    folder,
    record: join(folder, 'profile.json'),
    session: join(folder, 'session.json'),
    peers: join(folder, 'peers.json'),
    pendingKey: (codeSha256: string) => join(folder, `pending-${codeSha256.slice(0, 16)}.pem`),
    key: (credentialId: string) => join(folder, `key-${credentialId}.pem`),
    claims: join(folder, 'claims'),
    outbox: join(folder, 'outbox'),
    journal: join(folder, 'journal.jsonl'),
    lock: join(folder, 'listen.lock'),
    asks: join(folder, 'asks'),
  }
}
export type ProfilePaths = ReturnType<typeof profilePaths>

/** The stored identity of a profile, or undefined. @throws CommandFailure when what is stored is not usable. */
export async function readProfile(paths: ProfilePaths): Promise<ProfileRecord | undefined> {
  const stored = await readJson(paths.record, 'authentication')
  if (stored === undefined) return undefined
  if (isProfile(stored)) return stored
  throw new CommandFailure('authentication', `${paths.record} is not a whole profile`, {
    hint: 'bridge enroll --replace with a new code from the owner writes it again',
  })
}

/** {@link readProfile}, where there must be one. */
export async function requireProfile(paths: ProfilePaths, name: string): Promise<ProfileRecord> {
  const profile = await readProfile(paths)
  if (profile !== undefined) return profile
  throw new CommandFailure('authentication', `no identity in the profile ${name}`, {
    hint: 'bridge enroll --url URL makes one; --profile names another',
  })
}

/** The new key takes its place, then the record that names it; keys that nothing names go last. */
export async function writeProfile(paths: ProfilePaths, record: ProfileRecord): Promise<void> {
  await rename(paths.pendingKey(record.code_sha256), paths.key(record.identity.credential_id))
  // Nothing learnt with the old identity holds for the new one.
  await rm(paths.session, { force: true })
  await rm(paths.peers, { force: true })
  await writeJson(paths.record, record)
  const current = paths.key(record.identity.credential_id)
  for (const file of await readdir(paths.folder)) {
    const path = join(paths.folder, file)
    if (/^(key|pending)-.*\.pem$/.test(file) && path !== current) await rm(path, { force: true })
  }
}

const words = ['base_url', 'instance_id', 'code_sha256'] as const

function isProfile(stored: Record<string, unknown>): stored is ProfileRecord & Record<string, unknown> {
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

/** The session that all processes of the profile share. */
export function profileSessions(paths: ProfilePaths, blank: StoredSession): SessionStore {
  return {
    load: async () => {
      const stored = await readJson(paths.session, 'unexpected').catch(forgotten)
      return { ...blank, ...(stored as Partial<StoredSession> | undefined), instance_id: blank.instance_id }
    },
    save: (session) => writeJson(paths.session, session),
  }
}

/** What was learnt of peers. */
export function profileDirectory(paths: ProfilePaths, nobody: KnownPeers): DirectoryStore {
  return {
    load: async () => {
      const stored = await readJson(paths.peers, 'unexpected').catch(forgotten)
      return Array.isArray(stored?.peers) ? { ...nobody, ...(stored as Partial<KnownPeers>) } : nobody
    },
    save: (known) => writeJson(paths.peers, known),
  }
}

/** These files hold only what can be learnt again: a broken one is as good as none. */
const forgotten = (): undefined => undefined
