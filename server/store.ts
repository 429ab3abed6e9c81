/**
 * The open store of one process: writer, reader, nonces, ids. The server has one; so has a command on the host.
 *
 * The server also holds the lock of the data folder; a command of the host works beside a running server, which
 * SQLite allows, and writes only links.
 */
import { existsSync } from 'node:fs'
import type Database from 'better-sqlite3'
import { createIds, greatestId } from './database/ids.ts'
import { migrate } from './database/migrate.ts'
import { migrations } from './database/migrations/index.ts'
import { type Nonces, openNonces } from './database/nonces.ts'
import { openDatabase } from './database/open.ts'
import { createReader, type Reader } from './database/reader.ts'
import { scrub } from './database/scrub.ts'
import { createWriter, type Writer, type WriterOptions } from './database/transaction.ts'
import { openWalSync } from './database/wal-sync.ts'
import { databasePath, NotInitialised, readServerId, requireNoRestore } from './store-files.ts'

export interface Store {
  readonly serverId: string
  readonly writer: Writer
  readonly reader: Reader
  readonly nonces: Nonces
  /** Whether the file was written anew, since projects had been deleted from it. */
  readonly scrubbed: boolean
  close(): Promise<void>
}

export interface StoreOptions {
  readonly data: string
  readonly clock: () => Date
  readonly monotonicMs: () => number
  readonly random: (bytes: number) => Buffer
  readonly onFatal: (error: unknown) => void
  readonly onEffectError: (error: unknown) => void
  readonly onCommit?: () => void
  readonly onGroup?: WriterOptions['onGroup']
  readonly onFull?: WriterOptions['onFull']
  readonly isShort?: WriterOptions['isShort']
  /** Write the file anew where a deletion is unfinished: for who serves, and has time before it does. */
  readonly scrubDeleted?: boolean
}

/** Brings the schema up to date and opens it. @throws NotInitialised, RestoreUnfinished, DatabaseNewer, UnsafeStore, … */
export function openStore(options: StoreOptions): Store {
  const { data, clock, monotonicMs, random } = options
  const path = databasePath(data)
  requireNoRestore(data)
  if (!existsSync(path)) {
    throw new NotInitialised(`${data} holds no installation; run: bridge server init --data ${data}`)
  }
  const database = openDatabase(path)
  try {
    migrate(database, migrations, clock)
    const serverId = readServerId(database)
    if (serverId === undefined) {
      throw new NotInitialised(
        `${data} was not initialised completely; remove it and run: bridge server init`,
      )
    }
    const scrubbed = options.scrubDeleted === true && hasDeleted(database) && scrub(database)
    const nonces = openNonces({ database, clock, monotonicMs })
    const ids = createIds(greatestId(database), random)
    const { onFatal, onEffectError, onCommit = () => {}, onGroup, onFull, isShort } = options
    const writer = createWriter({
      database,
      walSync: openWalSync(database),
      clock,
      monotonicMs,
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

/** A deleted project whose row is still there: the removal of the rest, or of its last bytes, was not finished. */
const hasDeleted = (database: Database.Database): boolean =>
  database.prepare('SELECT 1 FROM projects WHERE deleted_at IS NOT NULL').get() !== undefined
