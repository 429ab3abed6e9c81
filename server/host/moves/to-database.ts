/**
 * Moves an installation from SQLite in a data folder to a PostgreSQL database. The folder stays the data
 * folder of the node: keys, settings and packages stay where they are.
 *
 * The lock of the folder is held meanwhile, and a write transaction on the file, so that no other process
 * changes it. `database/moved.ts` says what holds if the process is killed.
 */
import { existsSync } from 'node:fs'
import type Database from 'better-sqlite3'
import { limits } from '../../../sdk/contract/limits.ts'
import type { Config } from '../../config.ts'
import { migrations } from '../../database/migrations/index.ts'
import { leftFor, type Moved, shownUrl } from '../../database/moved.ts'
import { greatestId } from '../../database/sqlite/greatest-id.ts'
import { migrate } from '../../database/sqlite/migrate.ts'
import { readColumns, readMoved, sqliteRows, writeMoved } from '../../database/sqlite/moving.ts'
import { openDatabase } from '../../database/sqlite/open.ts'
import { readKeyCheck, readServerId } from '../../database/sqlite/server-id.ts'
import { checkpoint } from '../../database/sqlite/space.ts'
import {
  databasePath,
  NotInitialisedError,
  requireNoMove,
  requireNoRestore,
} from '../../storage/data-folder.ts'
import { keyCheckOf, requireSameKey } from '../../storage/envelope-keys.ts'
import { type CopiedRows, copyRows, type MoveProgress } from './copy.ts'
import { lockStopped } from './stopped.ts'

export interface MoveOptions extends MoveProgress, Pick<Config, 'envelopeKeyFile'> {
  readonly data: string
  /** The database of PostgreSQL. */
  readonly url: string
  readonly clock: () => Date
  readonly random: (bytes: number) => Buffer
}

export interface MoveReport {
  readonly server_id: string
  readonly from: string
  readonly to: string
  /** None if the move finished an earlier one that had been interrupted. */
  readonly tables: readonly CopiedRows[]
  readonly packages: { readonly files: number; readonly bytes: number }
}

export interface ToDatabaseOptions extends MoveOptions {
  /** Stores the settings with which the node starts from now on. Called after the source has its record. */
  readonly keepSettings: () => Promise<void>
}

/**
 * @throws DataFolderLockedError, NotInitialisedError, MovedError, TargetNotEmptyError, NewerDatabaseError,
 * OtherEnvelopeKeyError, CopyDiffersError, the reason of the signal; errors of either database
 */
export async function moveToDatabase(options: ToDatabaseOptions): Promise<MoveReport> {
  const { data, clock } = options
  requireNoRestore(data)
  requireNoMove(data)
  if (!existsSync(databasePath(data))) throw new NotInitialisedError(`${data} holds no installation`)
  const lock = lockStopped(data)
  const database = openDatabase(databasePath(data))
  try {
    migrate(database, migrations, clock)
    const serverId = readServerId(database)
    if (serverId === undefined) throw new NotInitialisedError(`${data} was not initialised completely`)
    const moved = readMoved(database)
    const { tables } =
      moved === undefined ? await moveRows(database, serverId, options) : await finish(moved, options)
    const packages = { files: 0, bytes: 0 }
    return { server_id: serverId, from: data, to: shownUrl(options.url), tables, packages }
  } finally {
    database.close()
    lock.release()
  }
}

interface Done {
  readonly tables: readonly CopiedRows[]
}

/** Ends a move whose process was killed after the source had its record. @throws MovedError if it ended */
async function finish(moved: Moved, { data, url, keepSettings, onStep }: ToDatabaseOptions): Promise<Done> {
  if (moved.place !== shownUrl(url)) throw leftFor(moved, data)
  const { settleMove } = await import('../../database/postgres/move-target.ts')
  onStep?.('finish')
  await keepSettings()
  if (!(await settleMove(url, moved.move_id))) throw leftFor(moved, data)
  return { tables: [] }
}

async function moveRows(
  database: Database.Database,
  serverId: string,
  options: ToDatabaseOptions,
): Promise<Done> {
  const { data, url, clock, random, envelopeKeyFile, onStep = () => {} } = options
  requireSameKey(envelopeKeyFile, readKeyCheck(database))
  const { openMoveTarget, settleMove } = await import('../../database/postgres/move-target.ts')
  // No process writes to the file from here on.
  database.exec('BEGIN IMMEDIATE')
  const columns = readColumns(database)
  const common = { move_id: random(16).toString('hex'), at: clock().toISOString() }
  onStep('target')
  const target = await openMoveTarget({ url, serverId, columns, clock })
  let tables: readonly CopiedRows[]
  try {
    tables = await copyRows({
      ...options,
      source: sqliteRows(database, columns),
      target: target.rows,
      columns,
    })
    onStep('arrival')
    await target.commit(
      { ...common, state: 'arrived', place: data },
      {
        lastId: greatestId(database),
        // By the time that a proof may be dated ahead, because another clock applies from now on.
        floorRaisedBy: limits.proofAheadSeconds,
        keyCheck: keyCheckOf(envelopeKeyFile),
      },
    )
  } finally {
    await target.close()
  }
  onStep('departure')
  writeMoved(database, { ...common, state: 'left', place: shownUrl(url) })
  database.exec('COMMIT')
  checkpoint(database)
  onStep('settings')
  await options.keepSettings()
  onStep('settling')
  await settleMove(url, common.move_id)
  onStep('end')
  return { tables }
}
