/**
 * Makes a consistent copy of a database while other processes write to it.
 *
 * - One read transaction holds the snapshot, so writers continue and the copy never restarts. Without it,
 *   SQLite restarts the copy at every commit of another process, so beside a busy server the copy never
 *   finishes.
 * - The copy runs in steps. After each step it can be interrupted, reports its progress and checks the size
 *   of the WAL. While the snapshot is held, the server cannot reset its WAL, which grows. If the WAL exceeds
 *   a bound, the copy is aborted.
 */
import { statSync } from 'node:fs'
import type Database from 'better-sqlite3'
import { BackupInterruptedError } from './errors.ts'

export interface CopyOptions {
  /** Path of the database. Its WAL is the file beside it with the suffix `-wal`. */
  readonly path: string
  readonly to: string
  readonly signal: AbortSignal
  readonly onProgress: (copied: number, total: number) => void
  /** Maximum size of the WAL in bytes. */
  readonly maxLogBytes?: number
  /** For tests: pages that are copied between two calls of `onProgress`. */
  readonly pagesPerStep?: number
}

const defaultMaxLogBytes = 256 * 1024 * 1024
/** 4 MiB, which takes some milliseconds to copy. */
const defaultPagesPerStep = 1024

/**
 * Copies the snapshot. `source` must be a separate connection; it has no open transaction afterwards. @throws
 * BackupInterruptedError, the reason of the signal
 */
export async function copySnapshot(source: Database.Database, options: CopyOptions): Promise<void> {
  const { path, to, signal, onProgress, pagesPerStep = defaultPagesPerStep } = options
  const pageBytes = source.pragma('page_size', { simple: true }) as number
  source.exec('BEGIN')
  try {
    // In SQLite a transaction takes its snapshot at its first read.
    source.prepare('SELECT 1 FROM sqlite_schema').get()
    const requireShortWal = walBound(path, options.maxLogBytes ?? defaultMaxLogBytes)
    await source.backup(to, {
      progress({ totalPages, remainingPages }) {
        signal.throwIfAborted()
        requireShortWal()
        onProgress((totalPages - remainingPages) * pageBytes, totalPages * pageBytes)
        return pagesPerStep
      },
    })
  } finally {
    source.exec('ROLLBACK')
  }
}

/**
 * Returns a check that throws if the WAL exceeds the bound. If another reader has already made the WAL
 * longer, the bound is its current size.
 */
function walBound(path: string, maxBytes: number): () => void {
  const bound = Math.max(maxBytes, walBytes(path))
  return () => {
    const bytes = walBytes(path)
    if (bytes <= bound) return
    throw new BackupInterruptedError(
      `backup aborted: the WAL of the database grew to ${mib(bytes)} during the copy; retry when the server is less busy, or write to a faster disk`,
    )
  }
}

const walBytes = (path: string): number => statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0

const mib = (bytes: number): string => `${Math.ceil(bytes / 1024 / 1024)} MiB`
