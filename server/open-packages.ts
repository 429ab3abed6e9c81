/** Opens the store of packages that the settings name. The client of an object store is loaded only for one. */
import type { FastifyBaseLogger } from 'fastify'
import type { Pace } from '../sdk/parts/receive.ts'
import type { Config } from './config.ts'
import type { NodeDatabase } from './database/node-database.ts'
import { createFolderPackages } from './package-store/folder/packages.ts'
import type { Packages } from './package-store/packages.ts'

export interface PackageServices {
  /** Monotonic milliseconds of limits in memory. */
  readonly monotonicMs: () => number
  /** Monotonic milliseconds of the process. */
  readonly processMs: () => number
  /** Least progress of moving bytes, if not the usual one. */
  readonly pace: Pace | undefined
  readonly random: (bytes: number) => Buffer
  readonly store: Pick<NodeDatabase, 'serverId' | 'reader' | 'writer'>
  readonly log: FastifyBaseLogger
}

/** @throws PackagesUnusableError */
export async function openPackages(
  { data, packageSpareBytes, packagesPlace: place }: Config,
  { monotonicMs, processMs, pace, random, store, log }: PackageServices,
): Promise<Packages> {
  if (place === undefined)
    return createFolderPackages({ data, spareBytes: packageSpareBytes, elapsedMs: monotonicMs })
  const { openObjectPackages } = await import('./package-store/objects/open.ts')
  return openObjectPackages({
    ...{ place, processMs, pace, random, serverId: store.serverId },
    ...{ read: store.reader.read, write: store.writer.write },
    onFailure: (error, transfer) =>
      log.error({ err: error, ...(transfer !== undefined && { transfer }) }, 'the object store failed'),
  })
}
