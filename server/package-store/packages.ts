/**
 * The bytes of packages: one folder per transfer below `packages` in the data folder, with the same part
 * store as the helper.
 *
 * - A part store stays open between the parts of an upload, because opening it hashes the stored parts. At
 *   most 32 are kept open.
 * - Each transfer has at most one upload operation at a time. Downloads only read, so any number may run.
 * - Removing a package stops its uploads and downloads, so its space is free when the removal is reported.
 * - Removing first renames the folder and then records it, so that the sweep at the next start finds a
 *   removal that a crash interrupted. The blocks are freed meanwhile.
 * - The disk is never filled: the bytes that earlier uploads still need count as used, and some spare space
 *   is left. So the first of two uploads that do not fit together is finished.
 *
 * Contract §9 "Package store".
 */
import { createHash } from 'node:crypto'
import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import type { TransferPart } from '../../sdk/contract/agent/transfers.ts'
import type { FileVerified, PartReceived } from '../../sdk/contract/helper/endpoints.ts'
import { manifestText } from '../../sdk/contract/helper/manifest.ts'
import type { Range } from '../../sdk/parts/blocks.ts'
import { Folder } from '../../sdk/parts/folder.ts'
import { PartError } from '../../sdk/parts/part-error.ts'
import { PartStore } from '../../sdk/parts/part-store.ts'
import type { StagedManifest } from '../../sdk/parts/staged-manifest.ts'
import { StoredFile } from '../../sdk/parts/stored.ts'
import type { TransferRow } from '../database/work-tables.ts'
import { createOpenDownloads } from './open-downloads.ts'
import { createRemovedFolders, type RemovedFolder } from './removed-folders.ts'

/** Name of the whole file in its folder. The sender's file name is never used as a path. */
const filename = 'package'

/** Maximum number of uploads that are kept open between two parts. */
const maxOpen = 32

/** An upload counts as running for this long after its last part. */
const runningMs = 300_000

export interface Packages {
  committed(transfer: TransferRow): Promise<readonly number[]>
  /** @throws PartError as {@link PartStore.receive}, `transfer_busy`, `expired` if the transfer ends */
  receive(transfer: TransferRow, index: number, body: Readable, signal: AbortSignal): Promise<PartReceived>
  /** @throws PartError as {@link PartStore.finalize}, `transfer_busy`, `expired` if the transfer ends */
  finalize(transfer: TransferRow, signal: AbortSignal): Promise<FileVerified>
  /**
   * Opens the file for reading. The caller must close it. @throws PartError `not_found` if its bytes were
   * removed
   */
  open(transfer: TransferRow): Promise<PackageFile>
  /** Makes the bytes of a transfer inaccessible and starts to free them. A missing package is no error. */
  remove(transferId: string): Promise<RemovedFolder>
  /** Returns the ids of the transfers that have a folder. Other files are ignored. */
  stored(): Promise<string[]>
  /** Frees removed packages whose bytes still exist. */
  sweep(): Promise<void>
  /** Resolves when every removed package has been freed or freeing it has failed. */
  freed(): Promise<void>
  close(): Promise<void>
}

export interface PackageFile {
  /** @throws PartError as {@link StoredFile.send}, `expired` if the transfer ends */
  send(range: Range, to: Writable, signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

export const partsOf = (transfer: TransferRow): TransferPart[] => JSON.parse(transfer.parts) as TransferPart[]

export const manifestOf = (transfer: TransferRow, mode: 'download' | 'upload') => ({
  version: '1' as const,
  transfer_id: transfer.id,
  mode,
  filename: transfer.filename,
  size: transfer.size,
  sha256: transfer.sha256,
  parts: partsOf(transfer),
})

export const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex')

function staged(transfer: TransferRow): StagedManifest {
  const { version, mode, ...manifest } = manifestOf(transfer, 'upload')
  return { ...manifest, filename, digest: digestOf(manifestText({ version, mode, ...manifest })) }
}

interface OpenUpload {
  readonly folder: Folder
  readonly store: PartStore
  isBusy: boolean
  /** Stops the running operation. */
  stop: AbortController
  /** Resolves when the running operation has ended. */
  idle: Promise<void>
  usedAt: number
  /** Position in the order in which uploads began. */
  begun: number | undefined
}

export interface PackagesOptions {
  /** The data folder of the node. */
  readonly data: string
  /** Free space to leave on the disk. */
  readonly spareBytes: number
  /** Monotonic milliseconds. */
  readonly elapsedMs: () => number
}

export function createPackages({ data, spareBytes, elapsedMs }: PackagesOptions): Packages {
  const root = join(data, 'packages')
  const opened = new Map<string, Promise<OpenUpload>>()
  const ready = new Set<OpenUpload>()
  const downloads = createOpenDownloads()
  const removedFolders = createRemovedFolders(root)
  let begun = 0

  const pathOf = (transferId: string) => join(root, transferId)

  async function openStore(transfer: TransferRow): Promise<OpenUpload> {
    await mkdir(pathOf(transfer.id), { recursive: true, mode: 0o700 })
    const folder = await Folder.open(pathOf(transfer.id))
    try {
      const spokenFor = () => bytesToLeave(one)
      const store = await PartStore.open(folder, staged(transfer), {
        spokenFor,
        moreRoom: removedFolders.settled,
      })
      const times = { usedAt: elapsedMs(), begun: store.hasBegun ? begun++ : undefined }
      const one: OpenUpload = { folder, store, ...times, ...idle() }
      ready.add(one)
      return one
    } catch (error) {
      await folder.close()
      throw error
    }
  }

  /**
   * Disk space that one upload must leave free: the spare, and the bytes that earlier uploads still have to
   * write.
   */
  async function bytesToLeave(one: OpenUpload): Promise<number> {
    const since = elapsedMs() - runningMs
    const position = one.begun ?? Number.POSITIVE_INFINITY
    const others = [...ready].filter((other) => other.usedAt >= since && (other.begun ?? position) < position)
    const missing = await Promise.all(others.map(({ store }) => store.missingBytes()))
    return missing.reduce((sum, bytes) => sum + bytes, spareBytes)
  }

  function use(transfer: TransferRow): Promise<OpenUpload> {
    const known = opened.get(transfer.id)
    if (known !== undefined) {
      // Moves the entry to the end of the map, so that the first entry is the least recently used.
      opened.delete(transfer.id)
      opened.set(transfer.id, known)
      return known
    }
    const opening = openStore(transfer)
    opened.set(transfer.id, opening)
    opening.catch(() => opened.delete(transfer.id))
    void closeLeastUsed()
    return opening
  }

  async function closeLeastUsed(): Promise<void> {
    for (const [id, opening] of opened) {
      if (opened.size <= maxOpen) return
      const one = await opening.catch(() => undefined)
      if (one === undefined || one.isBusy || opened.get(id) !== opening) continue
      opened.delete(id)
      await closeUpload(one)
    }
  }

  async function closeUpload(one: OpenUpload): Promise<void> {
    ready.delete(one)
    await one.store.close()
    await one.folder.close()
  }

  async function exclusively<T>(
    transfer: TransferRow,
    signal: AbortSignal,
    act: (store: PartStore, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const opening = use(transfer)
    const one = await opening
    if (one.isBusy) throw new PartError('transfer_busy')
    const ended = Promise.withResolvers<void>()
    Object.assign(one, {
      isBusy: true,
      stop: new AbortController(),
      idle: ended.promise,
      usedAt: elapsedMs(),
    })
    try {
      return await act(one.store, AbortSignal.any([one.stop.signal, signal]))
    } finally {
      one.isBusy = false
      one.usedAt = elapsedMs()
      if (one.store.hasBegun) one.begun ??= begun++
      if (opened.get(transfer.id) !== opening) await closeUpload(one)
      ended.resolve()
    }
  }

  return {
    async committed(transfer) {
      return (await use(transfer)).store.committed
    },
    receive: (transfer, index, body, given) =>
      exclusively(transfer, given, (store, signal) => store.receive(index, body, { signal })),
    finalize: (transfer, given) =>
      exclusively(transfer, given, (store, signal) => store.finalize({ signal })),
    async open(transfer) {
      const { signal: removed, done } = downloads.begin(transfer.id)
      try {
        const { file, folder } = await findFile(pathOf(transfer.id))
        return {
          send: (range, to, signal) => file.send(range, to, { signal: AbortSignal.any([removed, signal]) }),
          async close() {
            await file.close()
            await folder.close()
            done()
          },
        }
      } catch (error) {
        done()
        throw error
      }
    },
    async remove(transferId) {
      await downloads.end(transferId)
      const opening = opened.get(transferId)
      opened.delete(transferId)
      const one = await opening?.catch(() => undefined)
      if (one?.isBusy === true) {
        // The upload is stopped instead of awaited, because it may be slow, and a folder that is being
        // written cannot be removed.
        one.stop.abort(new PartError('expired'))
        await one.idle
      } else if (one !== undefined) await closeUpload(one)
      return removedFolders.detach(transferId)
    },
    stored: async () => (await readdir(root).catch(() => [])).filter((name) => isUuid.test(name)),
    sweep: removedFolders.sweep,
    freed: removedFolders.settled,
    async close() {
      const all = [...opened.values()]
      opened.clear()
      for (const opening of all) {
        const one = await opening.catch(() => undefined)
        if (one !== undefined && !one.isBusy) await closeUpload(one)
      }
      await removedFolders.settled()
    },
  }
}

/** @throws PartError `not_found` */
async function findFile(path: string): Promise<{ file: StoredFile; folder: Folder }> {
  const folder = await Folder.open(path).catch(() => {
    throw new PartError('not_found')
  })
  try {
    const file = await StoredFile.find(folder, filename)
    if (file === undefined) throw new PartError('not_found')
    return { file, folder }
  } catch (error) {
    await folder.close()
    throw error
  }
}

const idle = () => ({ isBusy: false, stop: new AbortController(), idle: Promise.resolve() })

const isUuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
