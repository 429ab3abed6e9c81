/**
 * The open store of one process: writer, reader, nonces, ids. The server has one; so has a command on the host.
 *
 * The server also holds the lock of the data folder; a command of the host works beside a running server, which
 * SQLite allows, and writes little. Its commits are on disk when they are seen: the server cannot know of the sync that
 * they would wait for, and would tell of them before.
 */
import { existsSync } from 'node:fs'
import type Database from 'better-sqlite3'
import { databasePath, NotInitialisedError, readServerId, requireNoRestore } from '../host/data-folder.ts'
import { createIds, greatestId } from './ids.ts'
import { migrate } from './migrate.ts'
import { migrations } from './migrations/index.ts'
import { type Nonces, openNonces } from './nonces.ts'
import { openDatabase } from './open.ts'
import { createReader, type Reader } from './reader.ts'
import { rewriteFile } from './scrub.ts'
import { checkpoint } from './space.ts'
import { openSteadyClock, type SteadyClock } from './steady-clock.ts'
import { openWalSync, syncedByCommit } from './wal-sync.ts'
import { createWriter } from './write-queue.ts'
import type { Writer, WriterOptions } from './writer.ts'

export interface NodeDatabase {
  readonly serverId: string
  readonly writer: Writer
  readonly reader: Reader
  readonly nonces: Nonces
  readonly steady: SteadyClock
  /** Whether the file was written anew, since projects had been deleted from it. */
  readonly scrubbed: boolean
  close(): Promise<void>
}

export interface NodeDatabaseOptions {
  readonly data: string
  readonly clock: () => Date
  readonly monotonicMs: () => number
  /** By which lifetimes run; where it differs from `monotonicMs`. */
  readonly elapsedMs?: () => number
  readonly random: (bytes: number) => Buffer
  readonly onFatal: (error: unknown) => void
  readonly onEffectError: (error: unknown) => void
  readonly onCommit?: () => void
  readonly onGroup?: WriterOptions['onGroup']
  readonly onFull?: WriterOptions['onFull']
  readonly isShort?: WriterOptions['isShort']
  /** The server's: what was left unfinished is put in order first, and the log is synced beside the event loop. */
  readonly serves?: boolean
}

/** Brings the schema up to date and opens it. @throws NotInitialisedError, RestoreUnfinishedError, NewerDatabaseError, UnsafeStoreError, … */
export function openNodeDatabase(options: NodeDatabaseOptions): NodeDatabase {
  const { data, clock, monotonicMs, elapsedMs = monotonicMs, random } = options
  const path = databasePath(data)
  requireNoRestore(data)
  if (!existsSync(path)) {
    throw new NotInitialisedError(`${data} holds no installation`)
  }
  const database = openDatabase(path)
  try {
    migrate(database, migrations, clock)
    const serverId = readServerId(database)
    if (serverId === undefined) {
      throw new NotInitialisedError(`${data} was not initialised completely: remove it, and make it anew`)
    }
    const serves = options.serves === true
    const scrubbed = serves && putInOrder(database)
    const nonces = openNonces({ database, clock, monotonicMs })
    const ids = createIds(greatestId(database), random)
    const steady = openSteadyClock({ database, ids, clock, elapsedMs, writes: serves })
    const walSync = serves ? openWalSync(database) : syncedByCommit
    const { onFatal, onEffectError, onCommit = () => {}, onGroup, onFull, isShort } = options
    const writer = createWriter({
      database,
      walSync,
      clock,
      monotonicMs,
      steady,
      ids,
      nonces,
      onFatal,
      onEffectError,
      onCommit,
      onGroup,
      onFull,
      isShort,
    })
    const reader = createReader({ path, durable: writer.durable, onFatal })
    return {
      serverId,
      writer,
      reader,
      nonces,
      steady,
      scrubbed,
      async close() {
        await reader.close()
        await writer.close()
      },
    }
  } catch (error) {
    database.close()
    throw error
  }
}

/**
 * Before anybody is served: what a process that died has left in the log may be in the system's memory alone, also where
 * the disk had failed to take it, and a sync of the log would find nothing to do. In the file it is written once more.
 * The file is written anew where a deletion is unfinished, and that is answered.
 */
function putInOrder(database: Database.Database): boolean {
  if (hasDeleted(database) && rewriteFile(database)) return true
  checkpoint(database)
  return false
}

/** A deleted project whose row is still there: the removal of the rest, or of its last bytes, was not finished. */
const hasDeleted = (database: Database.Database): boolean =>
  database.prepare('SELECT 1 FROM projects WHERE deleted_at IS NOT NULL').get() !== undefined
