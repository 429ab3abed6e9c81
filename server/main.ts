/** Exports of the server for the `bridge server` commands. Only those commands load it. */

export { type Config, defaultDataFolder, readConfig } from './config.ts'
export { ConfigError } from './config-error.ts'
export { DataFolderLockedError } from './database/sqlite/lock.ts'
export { type BackupReport, backUp } from './host/backups/backup.ts'
export type { RestoreReport } from './host/backups/restore.ts'
export type { RestoredReport } from './host/backups/restored.ts'
export { examine } from './host/doctor.ts'
export {
  finishDatabaseRestore,
  type Initialised,
  initServer,
  issueOwnerLink,
  issueSetupLink,
  issueTelemetryToken,
  maintain,
  movePackagesOf,
  readAddress,
  restoreBackup,
  rotateKey,
} from './host/init.ts'
export type { CopiedRows } from './host/moves/copy.ts'
export type { MovedPackages } from './host/moves/package-stores.ts'
export { type MoveReport, moveToDatabase } from './host/moves/to-database.ts'
export { moveToFolder } from './host/moves/to-folder.ts'
export { listNodes } from './host/nodes.ts'
export { objectPlaceOf } from './packages-place.ts'
export { type RunningServer, startServer } from './server.ts'
export { type SettingName, settings } from './settings.ts'
export { AlreadyInitialisedError, NotInitialisedError } from './storage/data-folder.ts'
