/** Why a backup is not made, or not restored: each says what is wrong and what to do, and leaves nothing behind. */

/** Something has that name already; nothing is ever overwritten. */
export class DestinationExists extends Error {
  override readonly name = 'DestinationExists'
}

/** There is no such folder, or no such file. */
export class PathMissing extends Error {
  override readonly name = 'PathMissing'
}

/** Less is free than the copy takes. */
export class NoSpace extends Error {
  override readonly name = 'NoSpace'
}

/** The copy took so long, beside so many writes, that the log of the running server grew too large. */
export class BackupCutOff extends Error {
  override readonly name = 'BackupCutOff'
}

/** SQLite's own check found something, or the file is none of ours. */
export class DamagedDatabase extends Error {
  override readonly name = 'DamagedDatabase'
}

/** Another program works with the database that is to be replaced. */
export class DatabaseInUse extends Error {
  override readonly name = 'DatabaseInUse'
}
