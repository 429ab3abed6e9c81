/**
 * The profile of a script: the identity that `bridge enroll` stored, with the session, the outbox and the peers that the
 * commands of the profile use too.
 *
 * An identity has one session. A script that keeps one of its own in memory competes with the commands of its profile: it
 * is refused while they are at work, or fences them. One that opens the profile joins their session.
 *
 * Contract §12, §13.
 */
import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname } from 'node:path'
import { nobodyKnown } from '../agent/directory.ts'
import { Identity } from '../agent/identity.ts'
import { blankSession } from '../agent/session.ts'
import { Bridge } from '../bridge.ts'
import type { BridgeOptions } from '../bridge-options.ts'
import { importPrivateKey } from '../signing/keys.ts'
import { parseObject } from '../transport/answers.ts'
import { LocalError } from '../transport/failures.ts'
import { isMissing, makePrivateFolder, storageFailed, writeDurably } from './durable-file.ts'
import { holdAnswer } from './open-asks.ts'
import { Outbox } from './outbox.ts'
import {
  isProfile,
  isProfileName,
  type ProfilePaths,
  type ProfileRecord,
  profileDirectory,
  profileFiles,
  profileSessions,
  profilesHome,
  readKey,
} from './profile-files.ts'

/** Everything that the profile does not decide. */
export interface OpenProfileOptions
  extends Omit<
    BridgeOptions,
    'baseUrl' | 'allowPlainHttp' | 'identity' | 'sessions' | 'directory' | 'outbox' | 'holdAnswer'
  > {
  /** The folder of the profiles; `BRIDGE_HOME` of this process, or its default, when absent. */
  readonly home?: string | undefined
}

/**
 * A Bridge with the identity of a profile; `name` is what `bridge enroll --profile` was given, `BRIDGE_PROFILE` or
 * `default` when absent.
 *
 * @throws LocalError `identity_missing`, `identity_unreadable`
 */
export async function openProfile(
  name: string = process.env.BRIDGE_PROFILE || 'default',
  { home, ...options }: OpenProfileOptions = {},
): Promise<Bridge> {
  const { clock = () => new Date(), random = randomBytes } = options
  if (!isProfileName(name)) throw unreadable(`a profile's name is letters, digits, and _ . -, not ${name}`)
  const paths = profileFiles(home ?? profilesHome(process.env, homedir()), name)
  const record = await readRecord(paths, name)
  const { identity, base_url: baseUrl, allow_plain_http: allowPlainHttp } = record
  const owner = { server_id: identity.server_id, agent_id: identity.agent.id }
  return new Bridge({
    ...options,
    baseUrl,
    allowPlainHttp,
    identity: await identityOf(paths, record),
    sessions: profileSessions(paths, blankSession(record.instance_id), write),
    directory: profileDirectory(paths, nobodyKnown, write),
    outbox: new Outbox({ folder: paths.outbox, owner, clock, random }),
    holdAnswer: (questionId) => hold(paths, questionId),
  })
}

/** Keeps the answer from a `listen` of the profile. */
async function hold({ asks }: ProfilePaths, questionId: string): Promise<() => Promise<void>> {
  try {
    await makePrivateFolder(asks)
    return await holdAnswer(asks, questionId)
  } catch (error) {
    throw storageFailed(asks, error)
  }
}

async function write(path: string, value: object): Promise<void> {
  await makePrivateFolder(dirname(path))
  await writeDurably(path, JSON.stringify(value))
}

async function readRecord({ record: path }: ProfilePaths, name: string): Promise<ProfileRecord> {
  const text = await readFile(path, 'utf8').catch((error) => {
    if (!isMissing(error)) throw storageFailed(path, error)
    throw new LocalError('identity_missing', `no identity in the profile ${name}; bridge enroll makes one`)
  })
  const stored = parseObject(text)
  if (stored !== undefined && isProfile(stored)) return stored
  throw unreadable(`${path} is not a whole profile`)
}

async function identityOf(paths: ProfilePaths, { identity, device }: ProfileRecord): Promise<Identity> {
  const path = paths.key(identity.credential_id)
  const key = await readKey(path)
  if ('problem' in key) throw unreadable([key.problem, key.remedy].filter(Boolean).join('; '))
  try {
    return new Identity(identity, { privateKey: importPrivateKey(key.pem), device: device ?? undefined })
  } catch (cause) {
    throw new LocalError('identity_unreadable', `the private key ${path} is damaged`, { cause })
  }
}

const unreadable = (message: string): LocalError => new LocalError('identity_unreadable', message)
