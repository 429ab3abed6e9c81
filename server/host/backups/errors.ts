/** Why a backup is not made, or not restored: each says what is wrong and what to do, and leaves nothing behind. */

/** Something has that name already; nothing is ever overwritten. */
export class DestinationExistsError extends Error {
  override readonly name = 'DestinationExistsError'
}

/** There is no such folder, or no such file. */
export class PathMissingError extends Error {
  override readonly name = 'PathMissingError'
}

/** Less is free than the copy takes. */
export class NoSpaceError extends Error {
  override readonly name = 'NoSpaceError'
}

/** The copy took so long, beside so many writes, that the log of the running server grew too large. */
export class BackupInterruptedError extends Error {
  override readonly name = 'BackupInterruptedError'
}

/** SQLite's own check found something, or the file is none of ours. */
export class DamagedDatabaseError extends Error {
  override readonly name = 'DamagedDatabaseError'
}

/** Another program works with the database that is to be replaced. */
export class DatabaseInUseError extends Error {
  override readonly name = 'DatabaseInUseError'
}
