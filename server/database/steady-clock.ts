/**
 * The steady clock: lifetimes and windows run by it. Setting the machine's clock does not move it, and it never goes back.
 *
 * - While the process lives it is monotonic time.
 * - Across a restart the wall clock tells how much time passed. If it was set back meanwhile, no time passed: an expired
 *   lifetime stays expired.
 * - The store holds the end of a lifetime in steady time. A client sees it in wall time, which moves along when the clock
 *   is set.
 * - The store holds the last reading of both clocks. A commit takes a new one along: after a second at the earliest, or
 *   when the clock was set. Without other changes a reading is written after a minute.
 *
 * Contract §5 "Lifetimes".
 */
import type Database from 'better-sqlite3'
import type { Ids } from './ids.ts'
import { createRowTimes, type RowTimes } from './row-times.ts'

export interface SteadyClock extends Pick<RowTimes, 'steadyOf' | 'idBefore'> {
  now(): Date
  /** The time of a unit of the writer, before it gives out ids. */
  begin(): Date
  /** The wall time of an instant of steady time, as the wall clock is set now. */
  wall(steadyIso: string): string
  /** Returns the instant of steady time that `wall` turns into this one. */
  ofWall(wallIso: string): string
  /** Whether the clock was set since the last reading was written: by a second or more. */
  isSet(): boolean
  /** Write a reading if one is due. To be called inside the writer's transaction. */
  note(): void
  /** Write a reading in any case, before the store is closed. */
  noteLast(): void
}

export interface SteadyClockOptions {
  readonly database: Database.Database
  /** The ids of the rows that `steadyOf` dates. */
  readonly ids: Pick<Ids, 'last'>
  readonly clock: () => Date
  /** Milliseconds that only grow, whatever the clock is set to. */
  readonly elapsedMs: () => number
  /** The server's. A command of the host beside it reads what the server wrote. */
  readonly writes: boolean
}

/** Below this the two clocks drift, and the steady clock follows the wall clock; from this on somebody set the clock. */
const stepMs = 1000
const soonestMs = 1000
const latestMs = 60_000

interface Reading {
  readonly wall_ms: number
  readonly steady_ms: number
}

/** Needs the migrated store; the database is the writer's. */
export function openSteadyClock(options: SteadyClockOptions): SteadyClock {
  const { database, ids, clock, elapsedMs, writes } = options
  const keep = database.prepare<[number, number]>(
    `INSERT INTO steady_clock (one, wall_ms, steady_ms) VALUES (1, ?, ?)
      ON CONFLICT (one) DO UPDATE SET wall_ms = excluded.wall_ms, steady_ms = excluded.steady_ms`,
  )
  const countChanges = database.prepare<[], number>('SELECT total_changes()').pluck()
  const openedMs = clock().getTime()
  const earlier = lastReading(database) ?? { wall_ms: openedMs, steady_ms: openedMs }
  // The wall clock tells how much time passed since the last reading.
  let lastMs = earlier.steady_ms + Math.max(0, openedMs - earlier.wall_ms)
  let offsetMs = openedMs - lastMs
  const rows = createRowTimes(ids.last, earlier.wall_ms - earlier.steady_ms)
  rows.follow(lastMs, offsetMs)
  const zeroMs = lastMs - elapsedMs()
  let written = { steady_ms: Number.NEGATIVE_INFINITY, offsetMs: Number.NaN, changes: 0 }

  const read = (): Reading => {
    const wallMs = clock().getTime()
    const apart = wallMs - (zeroMs + elapsedMs())
    if (Math.abs(apart - offsetMs) >= stepMs) offsetMs = Math.round(apart)
    lastMs = Math.max(lastMs, wallMs - offsetMs)
    return { steady_ms: lastMs, wall_ms: lastMs + offsetMs }
  }
  const write = ({ wall_ms, steady_ms }: Reading) => {
    keep.run(wall_ms, steady_ms)
    written = { steady_ms, offsetMs, changes: countChanges.get() ?? 0 }
  }
  const isDue = ({ steady_ms }: Reading): boolean => {
    if (offsetMs !== written.offsetMs) return true
    const sinceMs = steady_ms - written.steady_ms
    return sinceMs >= latestMs || (sinceMs >= soonestMs && countChanges.get() !== written.changes)
  }

  return {
    now: () => new Date(read().steady_ms),
    begin() {
      const { steady_ms } = read()
      rows.follow(steady_ms, offsetMs)
      return new Date(steady_ms)
    },
    steadyOf: rows.steadyOf,
    idBefore: rows.idBefore,
    wall: (steadyIso) =>
      offsetMs === 0 ? steadyIso : new Date(Date.parse(steadyIso) + offsetMs).toISOString(),
    ofWall: (wallIso) => new Date(Date.parse(wallIso) - offsetMs).toISOString(),
    isSet() {
      read()
      return offsetMs !== written.offsetMs
    },
    note() {
      if (!writes) return
      const reading = read()
      if (isDue(reading)) write(reading)
    },
    noteLast() {
      if (writes) write(read())
    },
  }
}

const lastReading = (database: Database.Database): Reading | undefined =>
  database.prepare<[], Reading>('SELECT wall_ms, steady_ms FROM steady_clock').get()
