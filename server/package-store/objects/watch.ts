/**
 * Whether the object store can be used: tried once at the start, and asked again while nothing else shows
 * that it answers.
 *
 * - An object under the prefix names the installation that uses it, because a second one would remove the
 *   packages of the first.
 * - A store that refuses ends the start. One that does not answer does not, because messages need no
 *   packages.
 */
import { createHash } from 'node:crypto'
import { ConfigError } from '../../config-error.ts'
import type { ObjectPlace } from '../../packages-place.ts'
import type { ObjectClient } from './client.ts'
import { StoreRefusal } from './failure.ts'

/** Error: the object store of the settings cannot hold the packages of this installation. */
export class PackagesUnusableError extends Error {
  override readonly name = 'PackagesUnusableError'
  readonly remedy: string

  constructor(message: string, { remedy, cause }: { readonly remedy: string; readonly cause?: unknown }) {
    super(message, { cause })
    this.remedy = remedy
  }
}

export interface Watch {
  /** Whether the store has answered within the last 30 seconds. */
  answers(): boolean
  /** Whether the store belonged to this installation when it last showed whose it is. */
  isOwn(): boolean
  stop(): void
}

export interface WatchOptions {
  readonly place: ObjectPlace
  readonly client: ObjectClient
  readonly serverId: string
  readonly random: (bytes: number) => Buffer
  readonly processMs: () => number
  readonly onFailure: (error: unknown) => void
}

const everyMs = 10_000
const answeredWithinMs = 30_000
const probeMs = 10_000

/** @throws PackagesUnusableError if the store refuses, or belongs to another installation */
export async function watchStore(options: WatchOptions): Promise<Watch> {
  const { processMs, onFailure, place, random } = options
  // One for all tries: a try that failed may have left its object, and the next one replaces it.
  const key = `${place.prefix}probe-${random(8).toString('hex')}`
  let answeredAt: number | undefined
  let isTried = false
  let isOwn = false
  let hasAsked = false
  const ask = async () => {
    const signal = AbortSignal.timeout(probeMs)
    try {
      if (isTried) await requireOwn(options, signal)
      else await tryStore(options, key, signal)
      isTried = true
      isOwn = true
      answeredAt = processMs()
    } catch (error) {
      if (error instanceof PackagesUnusableError) isOwn = false
      if (isRefused(error) && !hasAsked) throw error
      onFailure(error)
    } finally {
      hasAsked = true
    }
  }
  await ask()
  const timer = setInterval(() => void ask().catch(() => {}), everyMs)
  timer.unref()
  return {
    answers: () => answeredAt !== undefined && processMs() - answeredAt < answeredWithinMs,
    isOwn: () => isOwn,
    stop: () => clearInterval(timer),
  }
}

const isRefused = (error: unknown): boolean =>
  error instanceof PackagesUnusableError || error instanceof ConfigError

type Probe = Pick<WatchOptions, 'place' | 'client' | 'serverId'>

/** Writes, reads, lists and deletes an object. @throws PackagesUnusableError; errors of the connection */
async function tryStore(probe: Probe, key: string, signal: AbortSignal): Promise<void> {
  const { place, client } = probe
  const body = Buffer.from(`${key}\n`)
  await step(place, 'write', () => putSmall(client, key, body, signal))
  await requireOwn(probe, signal)
  const found = await step(place, 'read', () => text(client, key, signal))
  if (found !== body.toString())
    throw unusable(place, 'it returned other bytes than were written', 'use another object store')
  await step(place, 'list', async () => void (await client.list(key).next()))
  await step(place, 'delete', () => client.remove(key))
}

/** Key of the object that names the installation. */
const ownerKey = ({ prefix }: ObjectPlace): string => `${prefix}agent-bridge`

/**
 * Returns the id of the installation that uses the prefix. @throws PackagesUnusableError; errors of the
 * connection
 */
export const ownerOf = (
  { place, client }: Pick<WatchOptions, 'place' | 'client'>,
  signal: AbortSignal,
): Promise<string | undefined> => step(place, 'read', () => text(client, ownerKey(place), signal))

/** Requires that no other installation uses the prefix. The first one writes its id there. */
async function requireOwn(probe: Probe, signal: AbortSignal): Promise<void> {
  const { place, client, serverId } = probe
  let owner = await ownerOf(probe, signal)
  if (owner === undefined) {
    await step(place, 'write', () => putSmall(client, ownerKey(place), Buffer.from(serverId), signal))
    // Read again, because another installation that starts now may have replaced the id.
    owner = await ownerOf(probe, signal)
    if (owner === undefined)
      throw unusable(place, 'it does not return what was written', 'use another object store')
  }
  if (owner !== serverId)
    throw unusable(
      place,
      `it holds the packages of another installation (${owner.slice(0, 36)})`,
      'give this installation a prefix of its own',
    )
}

const putSmall = (client: ObjectClient, key: string, body: Buffer, signal: AbortSignal): Promise<void> =>
  client.put(key, { body, size: body.length, sha256: sha256(body), signal })

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

/** Returns the text of a small object, or undefined if there is none. */
async function text(client: ObjectClient, key: string, signal: AbortSignal): Promise<string | undefined> {
  try {
    const chunks: Buffer[] = []
    for await (const chunk of await client.get(key, signal)) chunks.push(chunk)
    return Buffer.concat(chunks).toString()
  } catch (error) {
    if (error instanceof StoreRefusal && error.code === 'NoSuchKey') return undefined
    throw error
  }
}

async function step<T>(place: ObjectPlace, verb: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    if (!(error instanceof StoreRefusal && error.isFinal)) throw error
    const [reason, remedy] = reasons[error.code] ?? [undefined, usualRemedy]
    const why = reason === undefined ? error.message : `${reason} (${error.message})`
    throw unusable(place, `the node cannot ${verb} there: ${why}`, remedy, error)
  }
}

const usualRemedy =
  'check packages, packages_endpoint, packages_region and the credentials in the environment'
const otherRegion = [
  'the bucket is in another region',
  'set packages_region to the region of the bucket',
] as const

/** The meaning of each code, and the remedy. */
const reasons: Readonly<Record<string, readonly [reason: string, remedy: string]>> = {
  NoSuchBucket: ['the bucket does not exist', 'create the bucket, or correct packages'],
  InvalidAccessKeyId: [
    'the store does not know the access key',
    'correct AWS_ACCESS_KEY_ID, or the profile in the file of credentials',
  ],
  SignatureDoesNotMatch: [
    'the secret of the access key is wrong',
    'correct AWS_SECRET_ACCESS_KEY, or the profile in the file of credentials',
  ],
  AccessDenied: [
    'the access key does not permit it',
    'permit s3:GetObject, s3:PutObject, s3:DeleteObject and s3:ListBucket to the access key',
  ],
  PermanentRedirect: otherRegion,
  AuthorizationHeaderMalformed: otherRegion,
  RequestTimeTooSkewed: ["this machine's clock is wrong", 'set the clock of this machine'],
}

const unusable = (
  { name }: ObjectPlace,
  why: string,
  remedy: string,
  cause?: unknown,
): PackagesUnusableError =>
  new PackagesUnusableError(`packages: ${name} cannot be used: ${why}`, { remedy, cause })
