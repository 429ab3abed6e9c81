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
import type { Ids } from './ids.ts'
import { createRowTimes, type RowTimes } from './row-times.ts'

export interface SteadyClock extends Pick<RowTimes, 'steadyOf' | 'idBefore'> {
  now(): Date
  /** Converts steady time to wall time by the current setting of the wall clock. */
  wall(steadyIso: string): string
  /** Converts wall time to steady time, by the current setting of the wall clock. The reverse of `wall`. */
  ofWall(wallIso: string): string
  /** Returns whether the wall clock was set by 1 s or more since the last reading was written. */
  isSet(): boolean
}

/** Steady clock together with what its database needs to keep it. */
export interface WrittenSteadyClock extends SteadyClock {
  /** Returns the time for a unit of the writer. Must be called before the unit makes ids. */
  begin(): Date
  read(): Reading
  /**
   * Returns a reading if one must be written. `changes` counts what this process has changed so far. It runs
   * only if the last reading is 1 s old.
   */
  due(changes: () => number): Reading | undefined
  /** Must be called after a reading was written. */
  noteWritten(reading: Reading, changes: number): void
}

export interface SteadyClockOptions {
  /** The last reading in the database, if it has one. */
  readonly earlier: Reading | undefined
  /** Ids of the rows whose times `steadyOf` converts. */
  readonly ids: Pick<Ids, 'last'>
  readonly clock: () => Date
  /** Milliseconds of a clock that is never set. */
  readonly elapsedMs: () => number
}

/**
 * If the clocks differ by less, they drifted and the steady clock follows the wall clock. Otherwise the clock
 * was set.
 */
const stepMs = 1000
const soonestMs = 1000
const latestMs = 60_000

/** Both clocks at one moment. */
export interface Reading {
  readonly wall_ms: number
  readonly steady_ms: number
}

export function createSteadyClock(options: SteadyClockOptions): WrittenSteadyClock {
  const { ids, clock, elapsedMs } = options
  const openedMs = clock().getTime()
  const earlier = options.earlier ?? { wall_ms: openedMs, steady_ms: openedMs }
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
  const isDue = ({ steady_ms }: Reading, changes: () => number): boolean => {
    if (offsetMs !== written.offsetMs) return true
    const sinceMs = steady_ms - written.steady_ms
    return sinceMs >= latestMs || (sinceMs >= soonestMs && changes() !== written.changes)
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
    read,
    due(changes) {
      const reading = read()
      return isDue(reading, changes) ? reading : undefined
    },
    noteWritten({ wall_ms, steady_ms }, changes) {
      written = { steady_ms, offsetMs: wall_ms - steady_ms, changes }
    },
  }
}
