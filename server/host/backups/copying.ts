/**
 * A consistent copy of a database that others write to meanwhile.
 *
 * - One read transaction holds the snapshot, so writers go on and the copy never begins again. A copy without it begins
 *   again at every commit of another process, and never ends beside a busy server.
 * - It is made in steps: between two it can be interrupted, tells how far it is, and looks at the log. While the snapshot
 *   is held the log of the server cannot be started over and grows; past a bound the copy is given up, not the server.
 */
import { statSync } from 'node:fs'
import type Database from 'better-sqlite3'
import { BackupInterruptedError } from './errors.ts'

export interface CopyOptions {
  /** The database's own path: its log lies beside it. */
  readonly path: string
  readonly to: string
  readonly signal: AbortSignal
  readonly onProgress: (copied: number, total: number) => void
  /** The log may grow to so many bytes. */
  readonly maxLogBytes?: number
  /** For tests: called between two steps. */
  readonly pagesPerStep?: number
}

const defaultMaxLogBytes = 256 * 1024 * 1024
/** 4 MiB: some milliseconds of copying. */
const defaultPagesPerStep = 1024

/** The source is a connection of its own, and free again afterwards. @throws BackupInterruptedError, the signal's reason */
export async function copySnapshot(source: Database.Database, options: CopyOptions): Promise<void> {
  const { path, to, signal, onProgress, pagesPerStep = defaultPagesPerStep } = options
  const pageBytes = source.pragma('page_size', { simple: true }) as number
  source.exec('BEGIN')
  try {
    // A transaction holds its snapshot from its first read on.
    source.prepare('SELECT 1 FROM sqlite_schema').get()
    const requireShortLog = logBound(path, options.maxLogBytes ?? defaultMaxLogBytes)
    await source.backup(to, {
      progress({ totalPages, remainingPages }) {
        signal.throwIfAborted()
        requireShortLog()
        onProgress((totalPages - remainingPages) * pageBytes, totalPages * pageBytes)
        return pagesPerStep
      },
    })
  } finally {
    source.exec('ROLLBACK')
  }
}

/** A log that is longer already, since somebody else holds a snapshot, may not grow at all. */
function logBound(path: string, most: number): () => void {
  const bound = Math.max(most, logBytes(path))
  return () => {
    const bytes = logBytes(path)
    if (bytes <= bound) return
    throw new BackupInterruptedError(
      `the copy was given up: the log of the database had grown to ${mib(bytes)} meanwhile; make it when less is written, or on a faster disk`,
    )
  }
}

const logBytes = (path: string): number => statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0

const mib = (bytes: number): string => `${Math.ceil(bytes / 1024 / 1024)} MiB`
