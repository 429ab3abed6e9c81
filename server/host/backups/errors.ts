/**
 * Reasons why a backup cannot be made or restored. Each message says what is wrong and what to do. After each
 * of these errors nothing has changed.
 */

/** The destination exists already. No file is ever overwritten. */
export class DestinationExistsError extends Error {
  override readonly name = 'DestinationExistsError'
}

/** The named folder or file does not exist. */
export class PathMissingError extends Error {
  override readonly name = 'PathMissingError'
}

/** The disk has less free space than the copy needs. */
export class NoSpaceError extends Error {
  override readonly name = 'NoSpaceError'
}

/**
 * The WAL of the running server grew too large during the copy, because the copy was slow or the server busy.
 */
export class BackupInterruptedError extends Error {
  override readonly name = 'BackupInterruptedError'
}

/** SQLite's integrity check failed, or the file is not a database of this program. */
export class DamagedDatabaseError extends Error {
  override readonly name = 'DamagedDatabaseError'
}

/** Another process has the database open that should be replaced. */
export class DatabaseInUseError extends Error {
  override readonly name = 'DatabaseInUseError'
}
