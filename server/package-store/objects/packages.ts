/**
 * Packages in an S3-compatible object store: one object per part, named by its hash.
 *
 * - The database records the parts. An object without a record is overwritten by the next upload of its part,
 *   or removed with the transfer.
 * - Parts of one package may arrive through different nodes, because no node remembers anything about a
 *   package.
 * - A download hashes each part. A part with other bytes is cut off before its last bytes.
 * - Objects that no open transfer uses are removed once they are an hour old.
 *
 * Contract §9 "Package store".
 */
import { createHash } from 'node:crypto'
import type { TransferPart } from '../../../sdk/contract/agent/transfers.ts'
import type { Range } from '../../../sdk/parts/blocks.ts'
import { PartError } from '../../../sdk/parts/part-error.ts'
import { receive, usualPace } from '../../../sdk/parts/receive.ts'
import { Reader } from '../../../sdk/parts/stored.ts'
import { ApiError } from '../../api-error.ts'
import type { Reader as Rows } from '../../database/reader.ts'
import type { TransferRow } from '../../database/work-tables.ts'
import type { Writer } from '../../database/writer.ts'
import type { ObjectPlace } from '../../packages-place.ts'
import { createOpenDownloads } from '../open-downloads.ts'
import { isTransferId, type Packages, partsOf } from '../packages.ts'
import type { ObjectClient } from './client.ts'
import { readPart } from './download.ts'
import { ObjectDiffersError, StoreRefusal, storeFailure } from './failure.ts'
import { forgetParts, listParts, recordPart } from './parts.ts'
import type { StallLimitOptions } from './stall-limit.ts'
import { createUpload } from './upload.ts'
import type { Watch } from './watch.ts'

export interface ObjectsOptions extends StallLimitOptions {
  readonly place: ObjectPlace
  /** For the bytes of parts. */
  readonly client: ObjectClient
  /** For removals and the search for what to remove. */
  readonly removals: ObjectClient
  readonly watch: Watch
  readonly read: Rows['read']
  readonly write: Writer['write']
  readonly onFailure: (error: unknown, transferId: string) => void
}

/**
 * Age from which an object that no open transfer uses is removed. An upload may record its part until then.
 */
const orphanMs = 3_600_000

/** Objects that are removed at the same time. */
const removedAtOnce = 8

/** The caller closes what it gave. */
export function createObjectPackages(options: ObjectsOptions): Omit<Packages, 'close'> {
  const { place, client, removals, watch, read, write, onFailure, pace = usualPace } = options
  const running = createOpenDownloads()
  const root = `${place.prefix}packages/`
  const keyOf = (transferId: string, { index, sha256 }: TransferPart) =>
    `${root}${transferId}/${index}-${sha256}`
  const objectOf = (transfer: TransferRow, part: TransferPart) => ({
    key: keyOf(transfer.id, part),
    size: part.size,
    sha256: part.sha256,
  })

  /** Runs an operation that the removal of the package stops, and tells failures of the store in words. */
  async function during<T>(transferId: string, given: AbortSignal, act: (signal: AbortSignal) => Promise<T>) {
    const { signal: removed, done } = running.begin(transferId)
    const signal = AbortSignal.any([removed, given])
    try {
      signal.throwIfAborted()
      return await act(signal)
    } catch (error) {
      if (signal.aborted) throw signal.reason
      if (error instanceof PartError || error instanceof ApiError) throw error
      onFailure(error, transferId)
      throw storeFailure(error)
    } finally {
      done()
    }
  }

  /** Requires the bytes of a part, and hashes them into the hash of the whole. */
  async function isRight(
    transfer: TransferRow,
    part: TransferPart,
    into: { update(bytes: Buffer): unknown },
    signal: AbortSignal,
  ): Promise<boolean> {
    const stop = new AbortController()
    const either = AbortSignal.any([signal, stop.signal])
    try {
      const bytes = await readPart(client, objectOf(transfer, part), { ...options, signal: either })
      await bytes.each((chunk) => void into.update(chunk))
      return true
    } catch (error) {
      const isLost = error instanceof StoreRefusal && error.code === 'NoSuchKey'
      if (isLost || error instanceof ObjectDiffersError) return false
      throw error
    } finally {
      // A store that begins to answer after the limit would keep its connection, because nobody reads it.
      stop.abort()
    }
  }

  async function keysUnder(prefix: string): Promise<string[]> {
    const keys: string[] = []
    for await (const { objects } of removals.list(prefix)) keys.push(...objects.map(({ key }) => key))
    return keys.filter((key) => key.startsWith(prefix))
  }

  async function removeKeys(keys: readonly string[]): Promise<void> {
    const left = [...keys]
    const work = async () => {
      for (let key = left.pop(); key !== undefined; key = left.pop()) await removals.remove(key)
    }
    await Promise.all(Array.from({ length: removedAtOnce }, work))
  }

  /** Recorded objects, which a listing may lack. */
  async function recordedKeys(transferId: string): Promise<string[]> {
    const { transfer, parts } = await read(async (db) => ({
      transfer: await db.selectFrom('transfers').selectAll().where('id', '=', transferId).executeTakeFirst(),
      parts: await listParts(db, transferId),
    }))
    if (transfer === undefined) return []
    const all = partsOf(transfer)
    return parts.flatMap((index) => (all[index] === undefined ? [] : keyOf(transferId, all[index])))
  }

  const committed = (transfer: TransferRow) => read((db) => listParts(db, transfer.id))

  return {
    place: place.name,
    answers: watch.answers,
    committed,
    receive: (transfer, index, body, given) =>
      during(transfer.id, given, async (signal) => {
        const part = partsOf(transfer)[index]
        if (part === undefined) throw new PartError('not_found')
        const duplicate = (await committed(transfer)).includes(index)
        const upload = duplicate ? undefined : createUpload(client, objectOf(transfer, part), options)
        const cut = () => upload?.cut()
        signal.addEventListener('abort', cut)
        try {
          const measured = await receive(body, { size: part.size, signal, pace, into: upload })
          if (measured.sha256 !== part.sha256)
            throw new PartError(duplicate ? 'part_conflict' : 'hash_mismatch')
          await upload?.finish()
          return {
            received: { index, ...measured, duplicate },
            record: (tx) => recordPart(tx, transfer, index),
          }
        } catch (error) {
          cut()
          throw error
        } finally {
          signal.removeEventListener('abort', cut)
        }
      }),
    finalize: (transfer, given) =>
      during(transfer.id, given, async (signal) => {
        const { size, sha256 } = transfer
        if (transfer.stored_at !== null) return { verified: true, size, sha256 }
        const parts = partsOf(transfer)
        if ((await committed(transfer)).length < parts.length) throw new PartError('parts_missing')
        const whole = createHash('sha256')
        const wrong: number[] = []
        for (const part of parts) if (!(await isRight(transfer, part, whole, signal))) wrong.push(part.index)
        if (wrong.length > 0) {
          await write(transfer.project_id, (tx) => forgetParts(tx, transfer, wrong))
          throw new PartError('parts_missing')
        }
        if (whole.digest('hex') !== sha256) throw new PartError('hash_mismatch')
        return { verified: true, size, sha256 }
      }),
    async open(transfer, range) {
      const { signal: removed, done } = running.begin(transfer.id)
      const stop = new AbortController()
      const parts = partsOf(transfer).filter((part) => isInside(part, range))
      const begin = (part: TransferPart) =>
        readPart(client, objectOf(transfer, part), { ...options, signal: stop.signal })
      try {
        // The first part is asked for before the answer begins, so that a refusal of the store can be told.
        const [first, ...rest] = parts
        const bytes = first && (await begin(first))
        return {
          async send(to, given) {
            const signal = AbortSignal.any([removed, given])
            const end = () => stop.abort(signal.reason)
            signal.addEventListener('abort', end)
            if (signal.aborted) end()
            try {
              const reader = new Reader(to, pace, signal)
              await bytes?.each((chunk) => reader.take(chunk))
              for (const part of rest) await (await begin(part)).each((chunk) => reader.take(chunk))
            } catch (error) {
              if (signal.aborted) throw signal.reason
              if (error instanceof PartError) throw error
              onFailure(error, transfer.id)
              throw storeFailure(error)
            } finally {
              signal.removeEventListener('abort', end)
            }
          },
          async close() {
            stop.abort()
            done()
          },
        }
      } catch (error) {
        stop.abort()
        done()
        if (error instanceof StoreRefusal && error.code === 'NoSuchKey') throw new PartError('not_found')
        onFailure(error, transfer.id)
        throw storeFailure(error)
      }
    },
    async remove(transferId) {
      await running.end(transferId)
      const keys = new Set([
        ...(await recordedKeys(transferId)),
        ...(await keysUnder(`${root}${transferId}/`)),
      ])
      await removeKeys([...keys])
      return { gone: Promise.resolve() }
    },
    async stored() {
      if (!watch.isOwn()) return []
      const ids = new Map<string, boolean>()
      for await (const { objects, at } of removals.list(root)) {
        for (const { key, changedAt } of objects) {
          const id = key.slice(root.length).split('/')[0] ?? ''
          if (key.startsWith(root) && isTransferId(id))
            ids.set(id, (ids.get(id) ?? true) && at - changedAt > orphanMs)
        }
      }
      return [...ids].filter(([, isOld]) => isOld).map(([id]) => id)
    },
    sweep: async () => {},
    freed: async () => {},
  }
}

const isInside = ({ offset, size }: Range, range: Range): boolean =>
  offset >= range.offset && offset + size <= range.offset + range.size
