/**
 * The bytes of packages: one folder a transfer below `packages` in the data folder, on the part store that the helper uses.
 *
 * - A store stays open between the parts of an upload, since opening it hashes what is there; few are kept open.
 * - One upload operation a transfer at a time. Downloads only read, and do not stand in each other's way.
 * - What is removed is moved no further, in either direction: its room is free when it is said to be.
 * - Removing takes the folder out of reach and then writes it down, so a crash in between is found by the sweep at the
 *   next start. Its blocks are freed meanwhile.
 * - The disk is never filled: what the uploads that began before still need is as good as used, and some space is left
 *   to whatever else lies there. So the first of two that do not fit together is finished.
 *
 * Contract §9 "Package store".
 */
import { createHash } from 'node:crypto'
import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import type { FileVerified, PartReceived } from '../../../sdk/contract/helper/endpoints.ts'
import { manifestText } from '../../../sdk/contract/helper/manifest.ts'
import type { Range } from '../../../sdk/parts/blocks.ts'
import { Folder } from '../../../sdk/parts/folder.ts'
import { PartError } from '../../../sdk/parts/part-error.ts'
import { PartStore } from '../../../sdk/parts/part-store.ts'
import type { StagedManifest } from '../../../sdk/parts/staged-manifest.ts'
import { StoredFile } from '../../../sdk/parts/stored.ts'
import type { TransferRow } from '../../database/work-tables.ts'
import { partsOf } from '../views.ts'
import { createOpenDownloads } from './open-downloads.ts'
import { createRemovedFolders, type RemovedFolder } from './removed-folders.ts'

/** What the whole file is called in its folder; the sender's name for it is never a path here. */
const filename = 'package'

/** Uploads that are kept open between two parts. */
const keptOpen = 32

/** For so long after its last part an upload counts as under way. */
const underWayMs = 300_000

export interface Packages {
  committed(transfer: TransferRow): Promise<readonly number[]>
  /** @throws PartError as {@link PartStore.receive}, `transfer_busy`, `expired` at the end of the transfer */
  receive(transfer: TransferRow, index: number, body: Readable, signal: AbortSignal): Promise<PartReceived>
  /** @throws PartError as {@link PartStore.finalize}, `transfer_busy`, `expired` at the end of the transfer */
  finalize(transfer: TransferRow, signal: AbortSignal): Promise<FileVerified>
  /** The file, ready to be read; close it. @throws PartError `not_found` when its bytes are gone */
  open(transfer: TransferRow): Promise<PackageFile>
  /** Takes the bytes of a transfer out of reach, and begins to free them; none is no error. */
  remove(transferId: string): Promise<RemovedFolder>
  /** The transfers that have a folder; what else lies there is none of ours. */
  stored(): Promise<string[]>
  /** Frees packages that were taken out of reach and are still there. */
  sweep(): Promise<void>
  /** Resolves when every package that was taken out of reach is freed, or freeing it failed. */
  freed(): Promise<void>
  close(): Promise<void>
}

export interface PackageFile {
  /** @throws PartError as {@link StoredFile.send}, `expired` at the end of the transfer */
  send(range: Range, to: Writable, signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

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

interface Opened {
  readonly folder: Folder
  readonly store: PartStore
  isBusy: boolean
  /** Ends the operation that makes it busy. */
  stop: AbortController
  /** Settled when that one has ended. */
  idle: Promise<void>
  usedAt: number
  /** Its place among the uploads that have begun. */
  begun: number | undefined
}

export interface PackagesOptions {
  /** The data folder of the node. */
  readonly data: string
  /** What stays free on the disk. */
  readonly spareBytes: number
  /** Milliseconds that only grow. */
  readonly elapsedMs: () => number
}

export function createPackages({ data, spareBytes, elapsedMs }: PackagesOptions): Packages {
  const root = join(data, 'packages')
  const opened = new Map<string, Promise<Opened>>()
  const ready = new Set<Opened>()
  const readings = createOpenDownloads()
  const leaving = createRemovedFolders(root)
  let begun = 0

  const pathOf = (transferId: string) => join(root, transferId)

  async function openStore(transfer: TransferRow): Promise<Opened> {
    await mkdir(pathOf(transfer.id), { recursive: true, mode: 0o700 })
    const folder = await Folder.open(pathOf(transfer.id))
    try {
      const spokenFor = () => neededBeside(one)
      const store = await PartStore.open(folder, staged(transfer), { spokenFor, moreRoom: leaving.settled })
      const times = { usedAt: elapsedMs(), begun: store.hasBegun ? begun++ : undefined }
      const one: Opened = { folder, store, ...times, ...idle() }
      ready.add(one)
      return one
    } catch (error) {
      await folder.close()
      throw error
    }
  }

  /** The disk that one upload must not take: the spare, and what those before it have still to write. */
  async function neededBeside(one: Opened): Promise<number> {
    const since = elapsedMs() - underWayMs
    const place = one.begun ?? Number.POSITIVE_INFINITY
    const others = [...ready].filter((other) => other.usedAt >= since && (other.begun ?? place) < place)
    const missing = await Promise.all(others.map(({ store }) => store.missingBytes()))
    return missing.reduce((sum, bytes) => sum + bytes, spareBytes)
  }

  function use(transfer: TransferRow): Promise<Opened> {
    const known = opened.get(transfer.id)
    if (known !== undefined) {
      // The last used stands last: the first is the one to let go.
      opened.delete(transfer.id)
      opened.set(transfer.id, known)
      return known
    }
    const opening = openStore(transfer)
    opened.set(transfer.id, opening)
    opening.catch(() => opened.delete(transfer.id))
    void letGoOldest()
    return opening
  }

  async function letGoOldest(): Promise<void> {
    for (const [id, opening] of opened) {
      if (opened.size <= keptOpen) return
      const one = await opening.catch(() => undefined)
      if (one === undefined || one.isBusy || opened.get(id) !== opening) continue
      opened.delete(id)
      await shut(one)
    }
  }

  async function shut(one: Opened): Promise<void> {
    ready.delete(one)
    await one.store.close()
    await one.folder.close()
  }

  async function alone<T>(
    transfer: TransferRow,
    signal: AbortSignal,
    act: (store: PartStore, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const opening = use(transfer)
    const one = await opening
    if (one.isBusy) throw new PartError('transfer_busy')
    const over = Promise.withResolvers<void>()
    Object.assign(one, { isBusy: true, stop: new AbortController(), idle: over.promise, usedAt: elapsedMs() })
    try {
      return await act(one.store, AbortSignal.any([one.stop.signal, signal]))
    } finally {
      one.isBusy = false
      one.usedAt = elapsedMs()
      if (one.store.hasBegun) one.begun ??= begun++
      if (opened.get(transfer.id) !== opening) await shut(one)
      over.resolve()
    }
  }

  return {
    async committed(transfer) {
      return (await use(transfer)).store.committed
    },
    receive: (transfer, index, body, given) =>
      alone(transfer, given, (store, signal) => store.receive(index, body, { signal })),
    finalize: (transfer, given) => alone(transfer, given, (store, signal) => store.finalize({ signal })),
    async open(transfer) {
      const { signal: removed, done } = readings.begin(transfer.id)
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
      await readings.end(transferId)
      const opening = opened.get(transferId)
      opened.delete(transferId)
      const one = await opening?.catch(() => undefined)
      if (one?.isBusy === true) {
        // Nobody needs the rest, however slowly it would come; and a folder that is written to is not removed.
        one.stop.abort(new PartError('expired'))
        await one.idle
      } else if (one !== undefined) await shut(one)
      return leaving.takeAway(transferId)
    },
    stored: async () => (await readdir(root).catch(() => [])).filter((name) => isUuid.test(name)),
    sweep: leaving.sweep,
    freed: leaving.settled,
    async close() {
      const all = [...opened.values()]
      opened.clear()
      for (const opening of all) {
        const one = await opening.catch(() => undefined)
        if (one !== undefined && !one.isBusy) await shut(one)
      }
      await leaving.settled()
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
