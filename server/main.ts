/** What the program's `bridge server` commands use; loaded only by them. */
export { type BackupReport, backUp } from './host/backups/backup.ts'
export type { RestoreReport } from './host/backups/restore.ts'
export {
  type Config,
  defaultDataFolder,
  readConfig,
  type SettingName,
  settings,
} from './config.ts'
export { ConfigError } from './config-error.ts'
export { DataFolderLocked } from './database/lock.ts'
export { examine } from './host/doctor.ts'
export {
  type Initialised,
  initServer,
  issueOwnerLink,
  issueSetupLink,
  issueTelemetryToken,
  maintain,
  readAddress,
  restoreBackup,
  rotateKey,
} from './host/init.ts'
export { type RunningServer, startServer } from './server.ts'
export { AlreadyInitialised, NotInitialised } from './host/data-folder.ts'
