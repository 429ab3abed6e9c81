/** The steady clock and its readings in SQLite. */
import type Database from 'better-sqlite3'
import {
  createSteadyClock,
  type Reading,
  type SteadyClockOptions,
  type WrittenSteadyClock,
} from '../steady-clock.ts'

export interface StoredSteadyClock extends WrittenSteadyClock {
  /** Writes a reading if one is due. Must be called inside the writer's transaction. */
  note(): void
  /** Writes a reading in any case, before the database is closed. */
  noteLast(): void
}

export interface StoredSteadyClockOptions extends Omit<SteadyClockOptions, 'earlier'> {
  /** Must be migrated. It is the writer's connection. */
  readonly database: Database.Database
  /** Whether this process writes readings. Only the server does; host commands read them. */
  readonly writes: boolean
}

export function openSteadyClock({
  database,
  writes,
  ...options
}: StoredSteadyClockOptions): StoredSteadyClock {
  const insert = database.prepare<[number, number]>(
    `INSERT INTO steady_clock (one, wall_ms, steady_ms) VALUES (1, ?, ?)
      ON CONFLICT (one) DO UPDATE SET wall_ms = excluded.wall_ms, steady_ms = excluded.steady_ms`,
  )
  const countChanges = database.prepare<[], number>('SELECT total_changes()').pluck()
  const changes = () => countChanges.get() ?? 0
  const earlier = database.prepare<[], Reading>('SELECT wall_ms, steady_ms FROM steady_clock').get()
  const steady = createSteadyClock({ ...options, earlier })
  const write = (reading: Reading) => {
    insert.run(reading.wall_ms, reading.steady_ms)
    steady.noteWritten(reading, changes())
  }
  return {
    ...steady,
    note() {
      const reading = writes ? steady.due(changes) : undefined
      if (reading !== undefined) write(reading)
    },
    noteLast() {
      if (writes) write(steady.read())
    },
  }
}
