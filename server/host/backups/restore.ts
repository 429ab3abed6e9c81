/**
 * Restores a backup into the data folder of a stopped server: copies, checks, fences and then replaces in one
 * step.
 *
 * - The backup is only read. Its copy is checked page by page, migrated and fenced in a temporary folder; see
 *   `restorations.ts`. Until then nothing else has changed, even if the process is killed.
 * - If the folder holds an installation, the operator must confirm, and the old database is kept in a
 *   separate folder.
 * - Proofs that were signed before the restore are refused, because the nonces used since the backup are
 *   unknown.
 *
 * Contract §3, §12.
 */

import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  statSync,
} from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../../config.ts'
import { everyLane } from '../../database/lanes.ts'
import { migrations } from '../../database/migrations/index.ts'
import { openNodeDatabase } from '../../database/sqlite/database.ts'
import { lockDataFolder } from '../../database/sqlite/lock.ts'
import { migrate } from '../../database/sqlite/migrate.ts'
import { refuseEarlierProofs } from '../../database/sqlite/nonces.ts'
import { openDatabase } from '../../database/sqlite/open.ts'
import { AlreadyInitialisedError, databasePath, restoreNotePath } from '../../storage/data-folder.ts'
import { makeEnvelopeKey } from '../../storage/envelope-keys.ts'
import { requireSpace } from './backup.ts'
import { type Checked, checkCopy } from './checking.ts'
import { DamagedDatabaseError, PathMissingError } from './errors.ts'
import { highestGeneration, type Known, newestRecord, readKnown } from './known.ts'
import { sync } from './new-file.ts'
import { chownLikeFolder } from './owner.ts'
import { hasBytes } from './package-bytes.ts'
import { finishReplacement, replaceDatabase } from './replacing.ts'
import { restoreWithin } from './restoring.ts'
import type { Review } from './review.ts'

export interface RestoreOptions {
  readonly config: Pick<Config, 'data' | 'envelopeKeyFile'>
  /** Path of the backup. */
  readonly file: string
  /** Replace an existing installation, which is kept in a separate folder. */
  readonly replace: boolean
  /** The operator vouches that no credential was revoked since the backup. */
  readonly acceptCredentials: boolean
  readonly clock: () => Date
  /** Monotonic time, for durations. */
  readonly monotonicMs: () => number
  readonly random: (bytes: number) => Buffer
}

export interface RestoreReport extends Review {
  readonly data: string
  readonly server_id: string
  /** Migration of the backup, and the one it was migrated to. */
  readonly migration: { readonly from: number; readonly to: number }
  /** Time of the last record in the backup. */
  readonly newest_record_at: string
  /** Folder of the replaced database; null if there was none. */
  readonly kept: string | null
  /** Whether the replaced database could be read, so that later revocations are known. */
  readonly known: boolean
  readonly envelope_key_made: boolean
}

/**
 * Restores a backup. If it throws one of these, nothing has changed.
 *
 * @throws DataFolderLockedError, AlreadyInitialisedError, PathMissingError, NoSpaceError,
 * DamagedDatabaseError, NewerDatabaseError, MigrationHistoryError, DatabaseInUseError
 */
export async function restore(options: RestoreOptions): Promise<RestoreReport> {
  const { config, file, replace, clock, random } = options
  const { data } = config
  requireBackup(file)
  const lock = lockDataFolder(data)
  try {
    finishReplacement(data)
    removeStaged(data)
    const isThere = ['', '-wal'].some((suffix) => existsSync(databasePath(data) + suffix))
    if (isThere && !replace) throw new AlreadyInitialisedError(`${data} holds an installation already`)
    const staged = `${stagedPrefix}${random(6).toString('hex')}`
    const folder = join(data, staged)
    mkdirSync(folder, { mode: 0o700 })
    try {
      const checked = stage(file, folder)
      const known = isThere ? readKnown(databasePath(data), checked.server_id) : undefined
      const prepared = await prepare(folder, checked, known, options)
      const kept = isThere ? keptName(data, clock()) : null
      const envelope_key_made = makeEnvelopeKey(config.envelopeKeyFile, random)
      chownLikeFolder(data, [databasePath(folder), folder, join(data, 'lock.db')])
      if (envelope_key_made) chownLikeFolder(data, [config.envelopeKeyFile])
      replaceDatabase(data, { staged, kept })
      return { ...prepared, data, kept: kept === null ? null : join(data, kept), envelope_key_made }
    } finally {
      // While the note exists, the next start needs the prepared database: the old one may be moved already.
      if (!existsSync(restoreNotePath(data))) rmSync(folder, { recursive: true, force: true })
    }
  } finally {
    lock.release()
  }
}

const stagedPrefix = 'restoring-'

/** Deletes temporary folders of restores that were killed. */
function removeStaged(data: string): void {
  for (const name of readdirSync(data))
    if (name.startsWith(stagedPrefix)) rmSync(join(data, name), { recursive: true, force: true })
}

const magic = 'SQLite format 3\0'

/** Runs before any folder is created. @throws PathMissingError, DamagedDatabaseError */
function requireBackup(file: string): void {
  const found = statSync(file, { throwIfNoEntry: false })
  if (found === undefined) throw new PathMissingError(`the file ${file} does not exist`)
  if (!found.isFile()) throw new DamagedDatabaseError(`${file} is not a file; give the path of one backup`)
  const head = Buffer.alloc(magic.length)
  const open = openSync(file, 'r')
  try {
    readSync(open, head)
  } finally {
    closeSync(open)
  }
  if (head.toString('latin1') !== magic)
    throw new DamagedDatabaseError(`${file} is not a backup of this program`)
  const log = statSync(`${file}-wal`, { throwIfNoEntry: false })
  if (log === undefined || log.size === 0) return
  throw new DamagedDatabaseError(
    `${file} is not a backup but a database that was in use: part of its data is in ${file}-wal`,
  )
}

function stage(file: string, folder: string): Checked {
  const path = databasePath(folder)
  // Twice the size, because migrations may write as much again.
  requireSpace(folder, 2 * statSync(file).size)
  closeSync(openSync(path, 'wx', 0o600))
  copyFileSync(file, path)
  return checkCopy(path, file)
}

type Prepared = Omit<RestoreReport, 'data' | 'kept' | 'envelope_key_made'>

/** Migrates, fences and syncs the copy. No other process has access to it yet. */
async function prepare(
  folder: string,
  checked: Checked,
  known: Known | undefined,
  options: RestoreOptions,
): Promise<Prepared> {
  const before = migrateCopy(folder, known, options.clock)
  const failures: unknown[] = []
  const fail = (error: unknown) => failures.push(error)
  const { clock, random, monotonicMs, config } = options
  const store = openNodeDatabase({
    data: folder,
    clock,
    monotonicMs,
    random,
    onFatal: fail,
    onEffectError: fail,
  })
  try {
    const { generation, newest } = before
    const from = { serverId: checked.server_id, newest, known, accepted: options.acceptCredentials }
    const review = await store.writer.write(everyLane, (tx) =>
      restoreWithin(tx, store.steady, {
        ...{ ...from, generation },
        hasBytes: (transfer) => hasBytes(config.data, transfer),
      }),
    )
    if (failures.length > 0) throw failures[0]
    const migration = { from: checked.migration, to: migrations.length }
    const { server_id } = checked
    return { server_id, migration, newest_record_at: before.newest, known: known !== undefined, ...review }
  } finally {
    await store.close()
    sync(databasePath(folder))
    sync(folder)
  }
}

/** @throws NewerDatabaseError, MigrationHistoryError */
function migrateCopy(folder: string, known: Known | undefined, clock: () => Date) {
  const database = openDatabase(databasePath(folder))
  try {
    migrate(database, migrations, clock)
    const newest = newestRecord(database)
    // If this machine's clock is behind the database, the floor follows the time of the last record, because
    // proofs have that date.
    const latest = [clock().toISOString(), newest, known?.newest ?? ''].sort().at(-1) ?? ''
    refuseEarlierProofs(database, new Date(latest))
    return { newest, generation: 1 + Math.max(highestGeneration(database), known?.generation ?? 0) }
  } finally {
    database.close()
  }
}

/** Returns `replaced-20261121T080501Z`, with a number appended if that name exists. */
function keptName(data: string, now: Date): string {
  const name = `replaced-${now.toISOString().replace(/[-:]|\.\d+/g, '')}`
  for (let count = 1; ; count += 1) {
    const free = count === 1 ? name : `${name}-${count}`
    if (!existsSync(join(data, free))) return free
  }
}
