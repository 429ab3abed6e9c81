/** Opens the store of packages that the settings name. The client of an object store is loaded only for one. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Pace } from '../sdk/parts/receive.ts'
import type { Config } from './config.ts'
import { ConfigError } from './config-error.ts'
import type { NodeDatabase } from './database/node-database.ts'
import type { Db } from './database/tables.ts'
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
  readonly onFailure: (error: unknown, transferId?: string) => void
}

/** @throws PackagesUnusableError */
export async function openPackages(
  { data, packageSpareBytes, packagesPlace: place }: Config,
  { monotonicMs, store, ...services }: PackageServices,
): Promise<Packages> {
  if (place === undefined)
    return createFolderPackages({ data, spareBytes: packageSpareBytes, elapsedMs: monotonicMs })
  const { openObjectPackages } = await import('./package-store/objects/open.ts')
  const { read } = store.reader
  const { write } = store.writer
  return openObjectPackages({ ...services, place, serverId: store.serverId, read, write })
}

/** Requires that the bytes of no open transfer are in the other kind of store. @throws ConfigError */
export async function requireNoneElsewhere(
  { data, packagesPlace: place }: Pick<Config, 'data' | 'packagesPlace'>,
  { reader }: Pick<NodeDatabase, 'reader'>,
): Promise<void> {
  const open = await reader.read(openPackagesIn)
  const inFolder = ({ id }: { id: string }) => existsSync(join(data, 'packages', id))
  const elsewhere = open.filter((each) =>
    place === undefined ? each.parts > 0 && !inFolder(each) : each.parts === 0 && inFolder(each),
  )
  if (elsewhere.length === 0) return
  const [here, there] = place === undefined ? ['folder', 'an object store'] : [place.name, 'the data folder']
  throw new ConfigError(
    `packages is ${here}, but ${elsewhere.length} open packages are in ${there}: stop the node and run bridge server move --packages ${place === undefined ? 'folder' : here}`,
  )
}

const openPackagesIn = async (db: Db): Promise<{ id: string; parts: number }[]> => {
  const rows = await db
    .selectFrom('transfers')
    .leftJoin('transfer_parts', 'transfer_parts.transfer_id', 'transfers.id')
    .select((eb) => ['transfers.id', eb.fn.count<number | string>('transfer_parts.part').as('parts')])
    .where('transfers.ends_at', 'is not', null)
    .where('transfers.stored_parts', '>', 0)
    .groupBy('transfers.id')
    .execute()
  return rows.map(({ id, parts }) => ({ id, parts: Number(parts) }))
}
