/**
 * The open database of one process: writer, reader, nonces and ids. The server opens one, and so does a host
 * command.
 *
 * The server also holds the lock of the data folder. A host command does not take that lock, so it can run
 * beside the server. Each commit of a host command is durable before other processes can see it. Otherwise
 * the server, which does not wait for the syncs of other processes, could report a commit that is then lost.
 */
import { existsSync } from 'node:fs'
import type Database from 'better-sqlite3'
import { databasePath, NotInitialisedError, requireNoRestore } from '../../storage/data-folder.ts'
import { createIds } from '../ids.ts'
import { migrations } from '../migrations/index.ts'
import { requireHere } from '../moved.ts'
import type { NodeDatabase, NodeDatabaseParts } from '../node-database.ts'
import { loneNode, type NodeSelf } from '../nodes.ts'
import { greatestId } from './greatest-id.ts'
import { migrate } from './migrate.ts'
import { readMoved } from './moving.ts'
import { openNonces } from './nonces.ts'
import { openDatabase } from './open.ts'
import { createReader } from './reader.ts'
import { rewriteFile } from './scrub.ts'
import { readServerId } from './server-id.ts'
import { checkpoint } from './space.ts'
import { openSteadyClock } from './steady-clock.ts'
import { openWalSync, syncedByCommit } from './wal-sync.ts'
import { createWriter } from './write-queue.ts'

export interface NodeDatabaseOptions extends NodeDatabaseParts {
  readonly data: string
  /**
   * This node, if this is the server. The server checkpoints or rewrites the file before it serves, and syncs
   * the WAL on another thread.
   */
  readonly self?: NodeSelf
}

/**
 * Brings the schema up to date and opens it. @throws NotInitialisedError, RestoreUnfinishedError,
 * NewerDatabaseError, MovedError, UnsafeStoreError, …
 */
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
    requireHere(readMoved(database), data)
    const serverId = readServerId(database)
    if (serverId === undefined) {
      throw new NotInitialisedError(
        `${data} was not initialised completely: remove it and run bridge server init again`,
      )
    }
    const serves = options.self !== undefined
    const scrubbed = serves && rewriteOrCheckpoint(database)
    const nonces = openNonces({ database, clock, monotonicMs })
    const ids = createIds(greatestId(database), random)
    const steady = openSteadyClock({ database, ids, clock, elapsedMs, writes: serves })
    const walSync = serves ? openWalSync(database) : syncedByCommit
    const { onFatal, onEffectError, onCommit = () => {}, onGroup, onFull, isStorageFull } = options
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
      isStorageFull,
    })
    const reader = createReader({ path, durable: writer.durable, onFatal })
    return {
      serverId,
      writer: { ...writer, write: (_lanes, unit, given) => writer.write(unit, given) },
      reader,
      nonces,
      steady,
      nodes: loneNode(serverId, options.self, clock),
      scrubbed,
      durability: () => 'local',
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
 * Makes the WAL of an earlier process durable before the server serves. If a project's deletion is
 * unfinished, this function rewrites the file. Otherwise, or if the rewrite fails, it checkpoints. Returns
 * whether it rewrote the file.
 *
 * A killed process may leave WAL pages in the memory of the operating system only. After a failed write the
 * system can mark such pages as clean, and then a sync of the WAL does nothing. A checkpoint writes their
 * content again.
 */
function rewriteOrCheckpoint(database: Database.Database): boolean {
  if (hasDeleted(database) && rewriteFile(database)) return true
  checkpoint(database)
  return false
}

/**
 * Returns whether the row of a deleted project remains, so that its rows or their last copies are not yet
 * removed.
 */
const hasDeleted = (database: Database.Database): boolean =>
  database.prepare('SELECT 1 FROM projects WHERE deleted_at IS NOT NULL').get() !== undefined
