/**
 * Room on the disk: a reserve for the day on which there is none.
 *
 * States:
 * - `whole`: the reserve is in place. Leaves when a write finds the disk full: the reserve is given up.
 * - `full`: what a client brings anew is refused with `storage_full`; reads with their nonces, acknowledgements, sign-ins
 *   and retention go on in the room that the reserve left. Leaves when there is room again.
 * - `lean`: there is no reserve, and everything is written: it was not made yet, or retention made room inside the
 *   database while the disk has none. Leaves when the reserve can be made, or when the last of the room is left.
 *
 * Without a reserve (`reserve_bytes` 0) it is `lean` for ever: a write that finds no space is refused, and the next one
 * tries again.
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
  /** Called at every change into `full`, and every minute while it lasts: for whatever makes room. */
  onFull(relieve: () => void): void
  /** Looks every second until the returned function is called. `unusedBytes` is the room inside the database. */
  watch(unusedBytes: () => number): () => void
}

export interface StorageOptions extends ReserveOptions {
  readonly log: FastifyBaseLogger
  readonly stopping: AbortSignal
}

const everyMs = 1000
const relieveEveryLooks = 60
/** A disk with less cannot be started on. */
const startBytes = 1024 * 1024

/** What the reserve needs beside itself before it is made: a disk that is full again at once helps nobody. */
const enoughFor = (bytes: number) => bytes + bytes / 4
/** Room for the log while the database fills its own. */
const enoughToWrite = (bytes: number) => bytes / 2
/** What is left for reads and retention where there is no reserve. */
const leastWithout = (bytes: number) => bytes / 4

export function openStorage(options: StorageOptions): Storage {
  const { data, bytes, log, stopping } = options
  let state: StorageState = bytes > 0 && reservedBytes(data) === bytes ? 'whole' : 'lean'
  const listeners: (() => void)[] = []

  const enter = (next: StorageState, why: string, freeBytes?: number) => {
    state = next
    const line = { state, ...(freeBytes !== undefined && { free_bytes: freeBytes }) }
    if (next === 'full') log.error(line, why)
    else log.warn(line, why)
  }
  const fill = (why: string, freeBytes?: number) => {
    dropReserve(data)
    enter('full', why, freeBytes)
    for (const relieve of listeners) relieve()
  }

  // Before the database is opened, which writes.
  const { bavail, bsize } = statfsSync(data)
  if (bytes > 0 && bavail * bsize < startBytes) fill('the disk is full at the start', bavail * bsize)
  // The setting was changed: another one is made when there is room.
  else if (state === 'lean') dropReserve(data)

  async function remake(freeBytes: number): Promise<boolean> {
    if (freeBytes < enoughFor(bytes) || !(await makeReserve(options, stopping))) return false
    const wasFull = state === 'full'
    state = 'whole'
    if (wasFull) log.warn({ state, free_bytes: freeBytes }, 'there is room again')
    return true
  }

  async function look(unusedBytes: () => number): Promise<void> {
    if (state === 'whole') return
    const { freeBytes } = await roomOf(data)
    if (await remake(freeBytes)) return
    if (state === 'lean' && freeBytes < leastWithout(bytes)) fill('the disk is nearly full', freeBytes)
    else if (state === 'full' && freeBytes >= enoughToWrite(bytes) && unusedBytes() >= bytes)
      enter('lean', 'there is room again inside the database', freeBytes)
  }

  return {
    get state() {
      return state
    },
    noteFull() {
      if (bytes > 0 && state !== 'full') fill('the disk is full: only what needs little is written')
    },
    onFull: (relieve) => void listeners.push(relieve),
    watch(unusedBytes) {
      if (bytes === 0) return () => {}
      let busy = false
      let looks = 0
      let told = ''
      const tell = (error: unknown) => {
        if (String(error) !== told) log.warn({ err: error }, 'the reserve was not made')
        told = String(error)
      }
      if (state === 'full') for (const relieve of listeners) relieve()
      const timer = setInterval(() => {
        if (busy) return
        busy = true
        looks = state === 'full' ? looks + 1 : 0
        if (looks % relieveEveryLooks === 0 && looks > 0) for (const relieve of listeners) relieve()
        look(unusedBytes)
          .catch(tell)
          .finally(() => {
            busy = false
          })
      }, everyMs)
      timer.unref()
      return () => clearInterval(timer)
    },
  }
}
