/** Opens packages in an object store, and tries the store first. */
import type { ObjectPlace } from '../../packages-place.ts'
import type { Packages } from '../packages.ts'
import { createObjectClient } from './client.ts'
import { createObjectPackages, type ObjectsOptions } from './packages.ts'
import { ownerOf, type WatchOptions, watchStore } from './watch.ts'

export type OpenOptions = Omit<ObjectsOptions, 'client' | 'watch'> &
  Pick<WatchOptions, 'serverId' | 'random'> & {
    readonly onFailure: (error: unknown, transferId?: string) => void
  }

/** @throws PackagesUnusableError */
export async function openObjectPackages(options: OpenOptions): Promise<Packages> {
  const client = createObjectClient(options.place)
  try {
    const watch = await watchStore({ ...options, client })
    return createObjectPackages({ ...options, client, watch })
  } catch (error) {
    await client.close()
    throw error
  }
}

const tryMs = 10_000

/**
 * Asks a store without opening it, and returns the id of the installation that uses it. @throws
 * PackagesUnusableError; errors of the connection
 */
export async function examineStore(place: ObjectPlace): Promise<string | undefined> {
  const client = createObjectClient(place)
  try {
    return await ownerOf({ place, client }, AbortSignal.timeout(tryMs))
  } finally {
    await client.close()
  }
}
