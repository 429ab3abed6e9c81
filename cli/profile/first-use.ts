/**
 * Parts of a request that a second use of its idempotency key would make differently. They are the time from which a
 * duration counts, a sealed text, and a claim that has ended since.
 *
 * The node answers a repeated request only if its bytes are the same. So each part is stored before the request is
 * sent, as one file in the folder `first-uses` of the profile, for the 7 days for which the node keeps a key. After a
 * refusal it is removed, because the node keeps no answer then. Contract §2 "Idempotency".
 */
import { hash } from 'node:crypto'
import { link, open, readdir, readFile, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { CliContext } from '../context.ts'
import { CommandError } from '../exit-codes.ts'
import { profilePaths } from './profile.ts'

const keptMs = 7 * 86_400_000

/** Returns the stored part with this name, or makes and stores it. A part is a JSON value. */
export type First = <T>(name: string, make: () => T | Promise<T>) => Promise<T>

/** Key of a request, and the command that it belongs to. Without a key nothing is stored. */
export interface KeyedUse {
  readonly of: string
  readonly key: string | undefined
}

type Context = Pick<CliContext, 'home' | 'settings' | 'clock' | 'random' | 'keptIds'>

/** Runs `act`, which takes the parts of its request from `first` and sends it. */
export async function asFirstUse<T>(
  context: Context,
  { of, key }: KeyedUse,
  act: (first: First) => Promise<T>,
): Promise<T> {
  if (key === undefined) return act(async (_name, make) => make())
  const folder = profilePaths(context.home, context.settings.profile).firstUses
  const made: string[] = []
  try {
    return await act(async (name, make) => {
      const path = join(folder, hash('sha256', JSON.stringify([of, key, name])))
      return (await stored(path, context)) ?? (await keep(path, await make(), { context, made }))
    })
  } catch (error) {
    // The outbox sends what it keeps, with these parts.
    const isKept = context.keptIds.length > 0
    if (made.length > 0 && !isKept && (await isRefused(error))) {
      for (const path of made) await rm(path, { force: true })
    }
    throw error
  }
}

async function isRefused(error: unknown): Promise<boolean> {
  const sdk = await import('../../sdk/program.ts')
  return sdk.isRefused(error)
}

async function stored<T>(path: string, { clock }: Context): Promise<T | undefined> {
  try {
    if (isOver(await stat(path), clock())) return undefined
    return JSON.parse(await readFile(path, 'utf8')) as T
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw unusable(path, error)
  }
}

const isOver = ({ mtimeMs }: { readonly mtimeMs: number }, now: Date): boolean =>
  now.getTime() - mtimeMs > keptMs

/** Stores the part durably. If another process stored one first, returns that one. */
async function keep<T>(
  path: string,
  value: T,
  { context, made }: { readonly context: Context; readonly made: string[] },
): Promise<T> {
  const { makePrivateFolder } = await import('../../sdk/program.ts')
  const folder = dirname(path)
  await makePrivateFolder(folder)
  const draft = `${path}.${context.random(6).toString('hex')}.tmp`
  try {
    await removeOld(folder, context.clock())
    const file = await open(draft, 'wx', 0o600)
    try {
      await file.writeFile(JSON.stringify(value))
      await file.utimes(context.clock(), context.clock())
      await file.sync()
    } finally {
      await file.close()
    }
    // Unlike a rename, a link never replaces the part of another process.
    await link(draft, path)
    made.push(path)
    return value
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw unusable(path, error)
    return (await stored<T>(path, context)) ?? value
  } finally {
    await rm(draft, { force: true })
  }
}

async function removeOld(folder: string, now: Date): Promise<void> {
  for (const name of await readdir(folder)) {
    const path = join(folder, name)
    const found = await stat(path).catch(() => undefined)
    if (found !== undefined && isOver(found, now)) await rm(path, { force: true })
  }
}

const unusable = (path: string, cause: unknown): CommandError => {
  const { code } = cause as NodeJS.ErrnoException
  return new CommandError('unexpected', `cannot use ${path} (${code ?? 'its content is damaged'})`, { cause })
}
