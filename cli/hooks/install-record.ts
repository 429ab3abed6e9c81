/**
 * `BRIDGE_HOME/hooks/<harness>.json`, which `hooks install` writes. These are the fields that choose the
 * profile of a session; the file may have others.
 *
 * The profile of a session is the first of these: `--profile` or BRIDGE_PROFILE, the one with which the session
 * began, the binding of the folder, the default of the installation. Without a record it is `default`.
 */
import { dirname, join } from 'node:path'

export interface InstallRecord {
  /** Profile of sessions in folders that have no binding. */
  readonly profile?: string | null
  /** Profile by absolute path of a folder. It also holds for the folders below. */
  readonly folders?: Readonly<Record<string, string>>
}

export const installRecordPath = (home: string, harness: string): string =>
  join(home, 'hooks', `${harness}.json`)

/** Returns the profile of sessions in this folder. Null: the record binds other folders only. */
export function chosenProfile(record: InstallRecord, folder: string): string | null {
  const { profile, folders = {} } = record
  for (let path = folder; ; path = dirname(path)) {
    const bound = Object.hasOwn(folders, path) ? folders[path] : undefined
    if (typeof bound === 'string') return bound
    if (dirname(path) === path) return typeof profile === 'string' ? profile : null
  }
}
