/** Interface of the open database of one process: writer, reader, nonces and clock. */
import type { Changes } from './changes.ts'
import type { Channel } from './channel.ts'
import type { Listeners } from './listeners.ts'
import type { Nodes } from './nodes.ts'
import type { Nonces } from './nonces.ts'
import type { Reader } from './reader.ts'
import type { SignInDelays } from './sign-in-delays.ts'
import type { SteadyClock } from './steady-clock.ts'
import type { Writer, WriterEvents } from './writer.ts'

/** On the disk of the database, or on that of a synchronous standby too. */
export type Durability = 'local' | 'synchronous'

export interface NodeDatabase {
  readonly serverId: string
  readonly writer: Writer
  readonly reader: Reader
  readonly nonces: Nonces
  readonly steady: SteadyClock
  /** Undefined if this process is the only one that serves the database. */
  readonly channel?: Channel
  /** Present with `channel`. */
  readonly changes?: Changes
  readonly nodes: Nodes
  /** Where a write is when it is confirmed, when the database was last asked. */
  durability(): Durability
  /** Present with `channel`. */
  readonly listeners?: Listeners
  /** Present with `channel`. */
  readonly signInDelays?: SignInDelays
  /** Whether opening rewrote the file (VACUUM), because the deletion of a project was unfinished. */
  readonly scrubbed: boolean
  close(): Promise<void>
}

/** Clocks, randomness and listeners that every database needs. */
export interface NodeDatabaseParts extends WriterEvents {
  readonly clock: () => Date
  readonly monotonicMs: () => number
  /** Clock of the steady time, by default `monotonicMs`. */
  readonly elapsedMs?: () => number
  readonly random: (bytes: number) => Buffer
  /** Returns whether the disk has too little free space to store new data. */
  readonly isStorageFull?: (() => boolean) | undefined
}
