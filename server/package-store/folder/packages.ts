/**
 * Packages in the data folder: one folder per transfer below `packages`, with the same part store as the
 * helper.
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
import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { manifestText } from '../../../sdk/contract/helper/manifest.ts'
import { Folder } from '../../../sdk/parts/folder.ts'
import { PartError } from '../../../sdk/parts/part-error.ts'
import { PartStore } from '../../../sdk/parts/part-store.ts'
import type { StagedManifest } from '../../../sdk/parts/staged-manifest.ts'
import { StoredFile } from '../../../sdk/parts/stored.ts'
import type { TransferRow } from '../../database/work-tables.ts'
import { createOpenDownloads } from '../open-downloads.ts'
import { digestOf, isTransferId, manifestOf, type Packages } from '../packages.ts'
import { createRemovedFolders } from './removed-folders.ts'

/** Name of the whole file in its folder. The sender's file name is never used as a path. */
const filename = 'package'

/** Maximum number of uploads that are kept open between two parts. */
const maxOpen = 32

/** An upload counts as running for this long after its last part. */
const runningMs = 300_000

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

export interface FolderOptions {
  /** The data folder of the node. */
  readonly data: string
  /** Free space to leave on the disk. */
  readonly spareBytes: number
  /** Monotonic milliseconds. */
  readonly elapsedMs: () => number
}

export function createFolderPackages({ data, spareBytes, elapsedMs }: FolderOptions): Packages {
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
        removesExpired: true,
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
    place: 'folder',
    // Space and failures of the disk are reported where they occur.
    answers: () => true,
    async committed(transfer) {
      return (await use(transfer)).store.committed
    },
    receive: (transfer, index, body, given) =>
      exclusively(transfer, given, async (store, signal) => {
        const received = await store.receive(index, body, { signal })
        const count = store.committed.length
        // The part store has its own durable record.
        return { received, record: async () => count }
      }),
    finalize: (transfer, given) =>
      exclusively(transfer, given, (store, signal) => store.finalize({ signal })),
    async open(transfer, range) {
      const { signal: removed, done } = downloads.begin(transfer.id)
      try {
        const { file, folder } = await findFile(pathOf(transfer.id))
        return {
          send: (to, signal) => file.send(range, to, { signal: AbortSignal.any([removed, signal]) }),
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
    stored: async () => (await readdir(root).catch(() => [])).filter(isTransferId),
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
