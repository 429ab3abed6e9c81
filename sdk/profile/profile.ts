/**
 * Opening a profile in a script: the identity that `bridge enroll` stored, with the session, outbox and peers
 * that the commands of the profile use too.
 *
 * An identity has one session. If a script keeps its session in memory, it competes with the commands of its
 * profile: the node refuses it while they run, or it fences them. If it opens the profile, it shares their
 * session.
 *
 * Contract §12, §13.
 */
import { randomBytes } from 'node:crypto'
import { access, readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname } from 'node:path'
import { nobodyKnown } from '../agent/directory.ts'
import { Identity } from '../agent/identity.ts'
import { blankSession } from '../agent/session.ts'
import { Bridge } from '../bridge.ts'
import type { BridgeOptions } from '../bridge-options.ts'
import type { Message } from '../contract/agent/messages.ts'
import { importPrivateKey } from '../signing/keys.ts'
import { isMissing, makePrivateFolder, storageFailed, writeDurably } from '../storage/durable-file.ts'
import { Journal } from '../storage/journal.ts'
import { holdAnswer } from '../storage/open-asks.ts'
import { Outbox } from '../storage/outbox.ts'
import { parseObject } from '../transport/answers.ts'
import { LocalError } from '../transport/failures.ts'
import type { HoldAnswer } from '../waiting/questions.ts'
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

/** Options of {@link openProfile}: those of a Bridge that the profile does not set. */
export interface OpenProfileOptions
  extends Omit<
    BridgeOptions,
    'baseUrl' | 'allowPlainHttp' | 'ca' | 'identity' | 'sessions' | 'directory' | 'outbox' | 'holdAnswer'
  > {
  /** Folder of the profiles. By default `BRIDGE_HOME` of this process, or its default. */
  readonly home?: string | undefined
}

/**
 * Opens a Bridge with the identity of a profile. `name` is the name given to `bridge enroll --profile`; by
 * default `BRIDGE_PROFILE`, or `default`. Sends no request.
 *
 * @throws LocalError `identity_missing`, `identity_unreadable`
 */
export async function openProfile(
  name: string = process.env.BRIDGE_PROFILE || 'default',
  { home, ...options }: OpenProfileOptions = {},
): Promise<Bridge> {
  const { clock = () => new Date(), random = randomBytes } = options
  if (!isProfileName(name))
    throw unreadable(`a profile name may hold only letters, digits and _ . -, not ${name}`)
  const paths = profileFiles(home ?? profilesHome(process.env, homedir()), name)
  const record = await readRecord(paths, name)
  const { identity, base_url: baseUrl, allow_plain_http: allowPlainHttp, ca } = record
  const owner = { server_id: identity.server_id, agent_id: identity.agent.id }
  return new Bridge({
    ...options,
    baseUrl,
    ca,
    allowPlainHttp,
    identity: await identityOf(paths, record),
    sessions: profileSessions(paths, blankSession(record.instance_id), write),
    directory: profileDirectory(paths, nobodyKnown, write),
    outbox: new Outbox({ folder: paths.outbox, owner, clock, random }),
    holdAnswer: (questionId) => hold(paths, clock, questionId),
  })
}

/** Reserves the answer, so that a `listen` of the profile does not print it. */
async function hold(
  { asks, journal }: ProfilePaths,
  clock: () => Date,
  questionId: string,
): ReturnType<HoldAnswer> {
  try {
    await makePrivateFolder(asks)
    const release = await holdAnswer(asks, questionId)
    return async (answer) => {
      // If writing the mark fails, a `listen` may print the answer too. The caller gets it anyway.
      if (answer !== undefined) await noteShown(journal, clock, answer).catch(() => {})
      await release()
    }
  } catch (error) {
    throw storageFailed(asks, error)
  }
}

/**
 * Marks the answer as printed in the journal of `listen`, to which the node may have offered it too. Only
 * `listen` creates and rotates the journal. A profile without one has never listened, and needs no mark.
 */
async function noteShown(path: string, clock: () => Date, answer: Message): Promise<void> {
  if (!(await isThere(path))) return
  const journal = await Journal.open({ path, clock, rotates: false })
  try {
    if (journal.isFull) return
    if (!journal.has(answer.id)) await journal.record([answer])
    await journal.recordPrinted([answer.id])
    await journal.recordDone([answer.id])
  } finally {
    await journal.close()
  }
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

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
  throw unreadable(`${path} is incomplete or damaged`)
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
