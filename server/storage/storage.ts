/**
 * Watches the free space of the disk and manages the reserve file.
 *
 * When storage enters `whole`: the reserve exists. If a write finds the disk full, the node deletes the
 * reserve and enters `full`.
 *
 * When storage enters `full`: the node refuses new data from clients with `storage_full`. Reads with their
 * nonces, acknowledgements, sign-ins and retention continue in the space that the reserve freed. If the
 * reserve can be made again, it enters `whole`. If retention has freed space inside the database file only,
 * it enters `lean`.
 *
 * When storage enters `lean`: there is no reserve, and all writes are accepted. The reserve was not made yet,
 * or only the database file has free space. If the reserve can be made, it enters `whole`. If free space
 * falls below a quarter of `reserve_bytes`, it enters `full`.
 *
 * With `reserve_bytes` 0 the state is always `lean`: a write that finds no space is refused, and the next one
 * is tried again.
 */
import { statfsSync } from 'node:fs'
import type { FastifyBaseLogger } from 'fastify'
import { dropReserve, makeReserve, type ReserveOptions, reservedBytes } from './reserve-file.ts'
import { roomOf } from './sizes.ts'

export type StorageState = 'whole' | 'lean' | 'full'

export interface Storage {
  readonly state: StorageState
  /** Called by the writer when the disk refused a write. */
  noteFull(): void
  /** Called when the disk of a database server refused a write. It may be that of the data folder. */
  noteDatabaseFull(): void
  /** Adds a listener that frees space. It is called on entering `full` and every minute in that state. */
  onFull(freeSpace: () => void): void
  /**
   * Checks every second until the returned function is called. `unusedBytes` returns the free space inside
   * the database file.
   */
  watch(unusedBytes: () => number): () => void
}

export interface StorageOptions extends ReserveOptions {
  readonly log: FastifyBaseLogger
  readonly stopping: AbortSignal
}

const everyMs = 1000
const notifyEveryChecks = 60
/** With less free space the database cannot be opened. */
const startBytes = 1024 * 1024

/**
 * Free space required to make the reserve: a quarter more than its size, so that the disk is not full again
 * immediately.
 */
const neededForReserve = (bytes: number) => bytes + bytes / 4
/** Free space required for the WAL while the database file has free pages. */
const neededToWrite = (bytes: number) => bytes / 2
/**
 * Free space below which a node without a reserve stops accepting new data, to keep some for reads and
 * retention.
 */
const minWithoutReserve = (bytes: number) => bytes / 4

export function openStorage(options: StorageOptions): Storage {
  const { data, bytes, log, stopping } = options
  let state: StorageState = bytes > 0 && reservedBytes(data) === bytes ? 'whole' : 'lean'
  const listeners: (() => void)[] = []

  const enter = (next: StorageState, message: string, freeBytes?: number) => {
    state = next
    const line = { state, ...(freeBytes !== undefined && { free_bytes: freeBytes }) }
    if (next === 'full') log.error(line, message)
    else log.warn(line, message)
  }
  const fill = (message: string, freeBytes?: number) => {
    dropReserve(data)
    enter('full', message, freeBytes)
    for (const freeSpace of listeners) freeSpace()
  }

  // Before the database is opened, because opening it writes.
  const { bavail, bsize } = statfsSync(data)
  if (bytes > 0 && bavail * bsize < startBytes) fill('the disk is full at start', bavail * bsize)
  // The setting was changed. A reserve of the new size is made when there is space.
  else if (state === 'lean') dropReserve(data)

  async function remake(freeBytes: number): Promise<boolean> {
    if (freeBytes < neededForReserve(bytes) || !(await makeReserve(options, stopping))) return false
    const wasFull = state === 'full'
    state = 'whole'
    if (wasFull)
      log.warn({ state, free_bytes: freeBytes }, 'the disk has free space again; the reserve was made')
    return true
  }

  async function check(unusedBytes: () => number): Promise<void> {
    if (state === 'whole') return
    const { freeBytes } = await roomOf(data)
    if (await remake(freeBytes)) return
    if (state === 'lean' && freeBytes < minWithoutReserve(bytes)) fill('the disk is nearly full', freeBytes)
    else if (state === 'full' && freeBytes >= neededToWrite(bytes) && unusedBytes() >= bytes)
      enter('lean', 'the database file has free space again', freeBytes)
  }

  const noteFull = () => {
    if (bytes > 0 && state !== 'full') fill('the disk is full; new data is refused')
  }

  return {
    get state() {
      return state
    },
    noteFull,
    noteDatabaseFull() {
      const { bavail, bsize } = statfsSync(data)
      // On another disk the reserve frees nothing, and would be made again at once.
      if (bavail * bsize < neededForReserve(bytes)) noteFull()
      else log.error('the disk of the database is full')
    },
    onFull: (freeSpace) => void listeners.push(freeSpace),
    watch(unusedBytes) {
      if (bytes === 0) return () => {}
      let busy = false
      let checks = 0
      let lastError = ''
      const logOnce = (error: unknown) => {
        if (String(error) !== lastError) log.warn({ err: error }, 'failed to make the reserve')
        lastError = String(error)
      }
      if (state === 'full') for (const freeSpace of listeners) freeSpace()
      const timer = setInterval(() => {
        if (busy) return
        busy = true
        checks = state === 'full' ? checks + 1 : 0
        if (checks % notifyEveryChecks === 0 && checks > 0) for (const freeSpace of listeners) freeSpace()
        check(unusedBytes)
          .catch(logOnce)
          .finally(() => {
            busy = false
          })
      }, everyMs)
      timer.unref()
      return () => clearInterval(timer)
    },
  }
}
