/** Opens packages in an object store, and tries the store first. */
import type { ObjectPlace } from '../../packages-place.ts'
import type { Packages } from '../packages.ts'
import { connectionsFor, createObjectClient } from './client.ts'
import { createObjectPackages, type ObjectsOptions } from './packages.ts'
import { ownerOf, type WatchOptions, watchStore } from './watch.ts'

export type OpenOptions = Omit<ObjectsOptions, 'client' | 'removals' | 'watch'> &
  Pick<WatchOptions, 'serverId' | 'random'> & {
    readonly onFailure: (error: unknown, transferId?: string) => void
  }

/** @throws PackagesUnusableError */
export async function openObjectPackages(options: OpenOptions): Promise<Packages> {
  const { place } = options
  const looks = createObjectClient(place, connectionsFor.looks)
  try {
    const watch = await watchStore({ ...options, client: looks })
    const client = createObjectClient(place, connectionsFor.moves)
    const removals = createObjectClient(place, connectionsFor.removals)
    const packages = createObjectPackages({ ...options, client, removals, watch })
    return {
      ...packages,
      async close() {
        watch.stop()
        await Promise.all([looks, client, removals].map((each) => each.close()))
      },
    }
  } catch (error) {
    await looks.close()
    throw error
  }
}

const tryMs = 10_000

/**
 * Asks a store without opening it, and returns the id of the installation that uses it. @throws
 * PackagesUnusableError; errors of the connection
 */
export async function examineStore(place: ObjectPlace): Promise<string | undefined> {
  const client = createObjectClient(place, connectionsFor.looks)
  try {
    return await ownerOf({ place, client }, AbortSignal.timeout(tryMs))
  } finally {
    await client.close()
  }
}
