/** Mark of the last time that a profile read its inbox, after which a notice is no longer outstanding. */
import { touch, touchedAt } from './files.ts'
import { placesOf } from './places.ts'

export interface Reading {
  readonly home: string
  readonly settings: { readonly profile: string }
  readonly clock: () => Date
}

/** Notes that the inbox was read, if the profile has hooks. A failure only delays the next notice. */
export function noteRead({ home, settings, clock }: Reading): void {
  try {
    const { folder, read } = placesOf(home, settings.profile)
    if (touchedAt(folder) !== undefined) touch(read, clock())
  } catch {
    // A full or read-only disk.
  }
}
