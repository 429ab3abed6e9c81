/**
 * Moves an installation from PostgreSQL to SQLite in a new data folder, with keys, settings and packages.
 *
 * The rows are written to a file under another name. It gets its name after the database has recorded that the
 * installation has left, so no node starts in the folder before.
 */
import { join, resolve } from 'node:path'
import type Database from 'better-sqlite3'
import { limits } from '../../../sdk/contract/limits.ts'
import { version } from '../../../sdk/version.ts'
import { migrations } from '../../database/migrations/index.ts'
import { leftFor, shownUrl } from '../../database/moved.ts'
import type { MoveSource } from '../../database/postgres/move-source.ts'
import { migrate } from '../../database/sqlite/migrate.ts'
import { readColumns, sqliteTarget } from '../../database/sqlite/moving.ts'
import { openDatabase } from '../../database/sqlite/open.ts'
import { requireNoRestore, witnessPath } from '../../storage/data-folder.ts'
import { requireSameKey } from '../../storage/envelope-keys.ts'
import { sync } from '../backups/new-file.ts'
import { type CopiedRows, copyRows } from './copy.ts'
import {
  clearFolder,
  copySettings,
  publish,
  readNote,
  requireEmptyFolder,
  unfinishedPath,
  writeNote,
} from './folder.ts'
import { copyPackages } from './packages.ts'
import { lockStopped } from './stopped.ts'
import type { MoveOptions, MoveReport } from './to-database.ts'

export interface ToFolderOptions extends MoveOptions {
  /** The new data folder. Missing, empty, or the rest of a killed move. */
  readonly to: string
}

/**
 * @throws DataFolderLockedError, NotInitialisedError, MovedError, MoveUnfinishedError, TargetNotEmptyError,
 * DatabaseServedError, OtherEnvelopeKeyError, CopyDiffersError, the reason of the signal; errors of either side
 */
export async function moveToFolder(options: ToFolderOptions): Promise<MoveReport> {
  const { data, url, clock, random } = options
  const to = resolve(options.to)
  requireNoRestore(data)
  const lock = lockStopped(data)
  let source: MoveSource | undefined
  try {
    const { openMoveSource } = await import('../../database/postgres/move-source.ts')
    const nodeId = random(16).toString('hex')
    source = await openMoveSource({ url, clock, nodeId, version, witnessFile: witnessPath(data) })
    const report = { server_id: source.serverId, from: shownUrl(url), to }
    requireEmptyFolder(to, source.serverId)
    if (source.left === undefined) {
      requireSameKey(options.envelopeKeyFile, source.keyCheck)
      return { ...report, ...(await fill(source, to, options)) }
    }
    if (readNote(to)?.move_id !== source.left.move_id) throw leftFor(source.left, report.from)
    publish(to)
    return { ...report, tables: [], packages: { files: 0, bytes: 0 } }
  } finally {
    await source?.close()
    lock.release()
  }
}

async function fill(
  source: MoveSource,
  to: string,
  options: ToFolderOptions,
): Promise<Pick<MoveReport, 'tables' | 'packages'>> {
  const { data, clock, random, signal, onStep = () => {} } = options
  const lock = lockStopped(to)
  const note = { server_id: source.serverId, move_id: random(16).toString('hex') }
  let isFilled = false
  try {
    clearFolder(to)
    onStep('note')
    writeNote(to, note)
    onStep('settings')
    copySettings(options, to)
    onStep('packages')
    const packages = await copyPackages(join(data, 'packages'), join(to, 'packages'), signal)
    const tables = await fillDatabase(source, unfinishedPath(to), options)
    sync(to)
    isFilled = true
    onStep('departure')
    await source.depart({ state: 'left', move_id: note.move_id, place: to, at: clock().toISOString() })
    onStep('name')
    publish(to)
    onStep('end')
    return { tables, packages }
  } finally {
    // After that it is not known whether the source has its record, so the same move has to run again.
    if (!isFilled) clearFolder(to)
    lock.release()
  }
}

async function fillDatabase(
  source: MoveSource,
  path: string,
  options: ToFolderOptions,
): Promise<readonly CopiedRows[]> {
  const database = openDatabase(path)
  try {
    migrate(database, migrations, options.clock)
    // A killed move begins with a new file, so this one needs no WAL. It is synced before it gets its name.
    for (const pragma of ['journal_mode = MEMORY', 'synchronous = OFF']) database.pragma(pragma)
    const columns = readColumns(database)
    database.exec('BEGIN')
    const target = sqliteTarget(database, columns)
    const tables = await copyRows({ ...options, source: source.rows(columns), target, columns })
    raiseFloor(database)
    database.exec('COMMIT')
    return tables
  } finally {
    database.close()
    sync(path)
  }
}

const raiseFloor = (database: Database.Database): void =>
  void database.prepare('UPDATE replay_floor SET floor = floor + ?').run(limits.proofAheadSeconds)
