/**
 * `BRIDGE_HOME/hooks/<harness>.json`, which `hooks install` writes. These are the fields that choose the
 * profile of a session; the file may have others.
 *
 * The profile is the first of these: `--profile` or BRIDGE_PROFILE, the binding of the folder, the default of
 * the installation, `default`.
 */
import { dirname, join } from 'node:path'

export interface InstallRecord {
  /** Profile of sessions in folders that have no binding. */
  readonly profile?: string
  /** Profile by absolute path of a folder. It also holds for the folders below. */
  readonly folders?: Readonly<Record<string, string>>
}

export const installRecordPath = (home: string, harness: string): string =>
  join(home, 'hooks', `${harness}.json`)

/** Returns the profile that the record chooses for a session in this folder, or undefined. */
export function chosenProfile(record: unknown, folder: string): string | undefined {
  const { profile, folders = {} } = (record ?? {}) as InstallRecord
  for (let path = folder; ; path = dirname(path)) {
    const bound = Object.hasOwn(folders, path) ? folders[path] : undefined
    if (typeof bound === 'string') return bound
    if (dirname(path) === path) return typeof profile === 'string' ? profile : undefined
  }
}
