/**
 * Moves the packages of a stopped node between its data folder and an object store. The database stays.
 *
 * - Each stored part is hashed when it is read, and read back and hashed in its new place.
 * - The new place is recorded and becomes the setting before the old bytes are removed. A killed move leaves
 *   the old place complete, and runs again from the start.
 */
import { createHash } from 'node:crypto'
import { createReadStream, existsSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough, Readable, Writable } from 'node:stream'
import type { TransferPart } from '../../../sdk/contract/agent/transfers.ts'
import { PartStore } from '../../../sdk/parts/part-store.ts'
import type { Config } from '../../config.ts'
import { CopyDiffersError } from '../../database/moved.ts'
import type { NodeDatabase } from '../../database/node-database.ts'
import type { TransferRow } from '../../database/work-tables.ts'
import { openPackages } from '../../open-packages.ts'
import { openStore } from '../../open-store.ts'
import { type Packages, partsOf } from '../../package-store/packages.ts'
import type { ObjectPlace } from '../../packages-place.ts'
import {
  databasePath,
  NotInitialisedError,
  requireNoMove,
  requireNoRestore,
} from '../../storage/data-folder.ts'
import { forgetParts } from '../../transfers/store.ts'
import { lockStopped } from './stopped.ts'

export interface MovePackagesOptions {
  readonly config: Config
  /** The new place. Undefined for the data folder. */
  readonly to: ObjectPlace | undefined
  readonly clock: () => Date
  readonly monotonicMs: () => number
  readonly random: (bytes: number) => Buffer
  readonly signal: AbortSignal
  /** Stores the setting with which the node starts from now on. */
  readonly keepSettings: () => Promise<void>
}

export interface MovedPackages {
  readonly from: string
  readonly to: string
  readonly packages: number
  readonly parts: number
  readonly bytes: number
}

interface Both {
  readonly store: NodeDatabase
  readonly from: Packages
  readonly to: Packages
  readonly data: string
  readonly signal: AbortSignal
}

/**
 * @throws DataFolderLockedError, NotInitialisedError, MovedError, PackagesUnusableError, CopyDiffersError;
 * the reason of the signal; errors of either store
 */
export async function movePackages(options: MovePackagesOptions): Promise<MovedPackages> {
  const { config, to: place, keepSettings, signal, ...chance } = options
  const { data } = config
  requireNoRestore(data)
  requireNoMove(data)
  const lock = lockStopped(data)
  const failures: unknown[] = []
  const fail = (error: unknown) => void failures.push(error)
  try {
    if (config.databaseUrl === undefined && !existsSync(databasePath(data)))
      throw new NotInitialisedError(`${data} holds no installation`)
    const store = await openStore(config, { ...chance, onFatal: fail, onEffectError: fail })
    const services = { ...chance, processMs: chance.monotonicMs, store, pace: undefined, onFailure: () => {} }
    const from = await openPackages(config, services)
    const to = await openPackages({ ...config, packagesPlace: place }, services)
    try {
      return await moveAll({ store, from, to, data, signal }, keepSettings)
    } finally {
      await Promise.all([from.close(), to.close()])
      await store.close()
    }
  } finally {
    lock.release()
  }
}

async function moveAll(both: Both, keepSettings: () => Promise<void>): Promise<MovedPackages> {
  const { store, from, to } = both
  const open = await store.reader.read((db) =>
    db
      .selectFrom('transfers')
      .selectAll()
      .where('mode', '=', 'package')
      .where('ends_at', 'is not', null)
      .where('stored_parts', '>', 0)
      .execute(),
  )
  let parts = 0
  let bytes = 0
  const moved: TransferRow[] = []
  for (const transfer of open) {
    const stored = await from.committed(transfer)
    // A move that was killed may have left records of objects that are not there.
    if (from.place === 'folder')
      await store.writer.write(transfer.project_id, (tx) => forgetParts(tx, transfer.id))
    for (const index of stored) {
      const part = partsOf(transfer)[index]
      if (part === undefined) continue
      await copyPart(both, transfer, part)
      parts += 1
      bytes += part.size
    }
    if (stored.length === 0) continue
    if (transfer.stored_at !== null) await to.finalize(transfer, both.signal)
    moved.push(transfer)
  }
  await keepSettings()
  for (const transfer of moved) {
    await (await from.remove(transfer.id)).gone
    if (to.place === 'folder')
      await store.writer.write(transfer.project_id, (tx) => forgetParts(tx, transfer.id))
  }
  return { from: from.place, to: to.place, packages: moved.length, parts, bytes }
}

async function copyPart(both: Both, transfer: TransferRow, part: TransferPart): Promise<void> {
  const { from, to, store, data, signal } = both
  signal.throwIfAborted()
  const isFolder = from.place === 'folder'
  const body = isFolder ? inFolder(data, transfer, part) : fromObjects(from, transfer, part, signal)
  const { received, record } = await to
    .receive(transfer, part.index, body, signal)
    .catch((error: unknown) => {
      // If the old place failed, its failure says why.
      throw body.errored ?? error
    })
  await store.writer.write(transfer.project_id, record)
  if (received.sha256 !== part.sha256) throw differs(transfer, part)
  // A folder hashes its parts when they are read back at the end, or when the node opens them.
  if (isFolder) await readBack(to, transfer, part, signal)
}

/** The bytes of a part, in the published file or in the staged one. */
function inFolder(data: string, transfer: TransferRow, { offset, size }: TransferPart): Readable {
  if (size === 0) return Readable.from([])
  const name = transfer.stored_at === null ? PartStore.namesOf(transfer.id).staged : 'package'
  return createReadStream(join(data, 'packages', transfer.id, name), {
    start: offset,
    end: offset + size - 1,
  })
}

function fromObjects(
  from: Packages,
  transfer: TransferRow,
  part: TransferPart,
  signal: AbortSignal,
): Readable {
  const body = new PassThrough()
  body.on('error', () => {})
  void send(from, transfer, part, body, signal).then(
    () => body.end(),
    (error: unknown) => body.destroy(error as Error),
  )
  return body
}

async function send(
  from: Packages,
  transfer: TransferRow,
  part: TransferPart,
  to: Writable,
  signal: AbortSignal,
): Promise<void> {
  const file = await from.open(transfer, part)
  try {
    await file.send(to, signal)
  } finally {
    await file.close()
  }
}

async function readBack(to: Packages, transfer: TransferRow, part: TransferPart, signal: AbortSignal) {
  const hash = createHash('sha256')
  const sink = new Writable({
    write(chunk: Buffer, _, done) {
      hash.update(chunk)
      done()
    },
  })
  await send(to, transfer, part, sink, signal)
  if (hash.digest('hex') !== part.sha256) throw differs(transfer, part)
}

const differs = ({ id }: TransferRow, { index }: TransferPart): CopyDiffersError =>
  new CopyDiffersError(`part ${index} of the package ${id} arrived with other bytes`)
