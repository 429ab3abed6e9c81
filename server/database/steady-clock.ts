/**
 * The steady clock, by which lifetimes and windows run. It never goes back, and setting the wall clock does
 * not move it.
 *
 * - While the process runs, the steady clock follows monotonic time.
 * - After a restart, the wall clock shows how much time has passed since the last reading. If the wall clock
 *   was set back, the steady clock stands still, so an expired lifetime stays expired.
 * - The database stores the end of a lifetime in steady time. Clients get it in wall time. If the wall clock
 *   is set, that wall time changes with it.
 * - The database stores the last reading of both clocks. A commit writes a new reading if the last one is at
 *   least 1 s old or the clock was set. Without other changes, a reading is written every 60 s.
 *
 * Contract §5 "Lifetimes".
 */
import type Database from 'better-sqlite3'
import type { Ids } from './ids.ts'
import { createRowTimes, type RowTimes } from './row-times.ts'

export interface SteadyClock extends Pick<RowTimes, 'steadyOf' | 'idBefore'> {
  now(): Date
  /** Returns the time for a unit of the writer. Must be called before the unit makes ids. */
  begin(): Date
  /** Converts steady time to wall time by the current setting of the wall clock. */
  wall(steadyIso: string): string
  /** Converts wall time to steady time, by the current setting of the wall clock. The reverse of `wall`. */
  ofWall(wallIso: string): string
  /** Returns whether the wall clock was set by 1 s or more since the last reading was written. */
  isSet(): boolean
  /** Writes a reading if one is due. Must be called inside the writer's transaction. */
  note(): void
  /** Writes a reading in any case, before the database is closed. */
  noteLast(): void
}

export interface SteadyClockOptions {
  readonly database: Database.Database
  /** Ids of the rows whose times `steadyOf` converts. */
  readonly ids: Pick<Ids, 'last'>
  readonly clock: () => Date
  /** Milliseconds of a clock that is never set. */
  readonly elapsedMs: () => number
  /** Whether this process writes readings. Only the server does; host commands read them. */
  readonly writes: boolean
}

/**
 * If the clocks differ by less, they drifted and the steady clock follows the wall clock. Otherwise the clock
 * was set.
 */
const stepMs = 1000
const soonestMs = 1000
const latestMs = 60_000

interface Reading {
  readonly wall_ms: number
  readonly steady_ms: number
}

/** `database` must be migrated and is the writer's connection. */
export function openSteadyClock(options: SteadyClockOptions): SteadyClock {
  const { database, ids, clock, elapsedMs, writes } = options
  const insert = database.prepare<[number, number]>(
    `INSERT INTO steady_clock (one, wall_ms, steady_ms) VALUES (1, ?, ?)
      ON CONFLICT (one) DO UPDATE SET wall_ms = excluded.wall_ms, steady_ms = excluded.steady_ms`,
  )
  const countChanges = database.prepare<[], number>('SELECT total_changes()').pluck()
  const openedMs = clock().getTime()
  const earlier = lastReading(database) ?? { wall_ms: openedMs, steady_ms: openedMs }
  // The wall clock shows how much time has passed since the last reading.
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
    insert.run(wall_ms, steady_ms)
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
