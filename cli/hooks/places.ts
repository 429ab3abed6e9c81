/**
 * Files of the hooks, in `BRIDGE_HOME/profiles/<profile>/hooks/`:
 *
 * - `holder.json`: the harness session that gets the notices. `waiter.json`: its waiter, while it runs.
 * - `mail.json`: unacknowledged messages as the waiter read them, without bodies. The file is absent if there
 *   are none. `none`: touched every 5 seconds while the waiter knows that there are none; see no-mail.ts.
 * - `<session>.ledger.json`: notices that the session got. `<session>.turn`: touched while a turn runs.
 *   `<session>.empty`: time at which the hook of the start found no mail; the waiter removes it when there is
 *   some. `<session>.looked`: time of the last look into `mail.json`. `<session>.capped`: time of the last
 *   line to the owner about a session that is not woken for a while.
 * - `<harness>.<event>.ran`: time of the last run of each event.
 * - `read`: time of the last `bridge inbox`. `lock`: held while one of these files is changed.
 *
 * `hooks.jsonl` of the profile, or of BRIDGE_HOME before the profile is known, is the log.
 */
import { join } from 'node:path'
import { profileFiles } from '../../sdk/profile/profile-files.ts'

export interface Places {
  /** `profile.json`, which shows that the profile has an identity. */
  readonly profile: string
  readonly folder: string
  readonly lock: string
  readonly holder: string
  readonly waiter: string
  readonly mail: string
  readonly none: string
  readonly read: string
  readonly log: string
  readonly listenLock: string
  readonly ledger: (session: string) => string
  readonly turn: (session: string) => string
  readonly empty: (session: string) => string
  readonly looked: (session: string) => string
  readonly capped: (session: string) => string
  readonly ran: (harness: string, event: string) => string
}

export function placesOf(home: string, profile: string): Places {
  const files = profileFiles(home, profile)
  const folder = join(files.folder, 'hooks')
  return {
    profile: files.record,
    folder,
    lock: join(folder, 'lock'),
    holder: join(folder, 'holder.json'),
    waiter: join(folder, 'waiter.json'),
    mail: join(folder, 'mail.json'),
    none: join(folder, 'none'),
    read: join(folder, 'read'),
    log: join(files.folder, 'hooks.jsonl'),
    listenLock: files.lock,
    ledger: (session) => join(folder, `${session}.ledger.json`),
    turn: (session) => join(folder, `${session}.turn`),
    empty: (session) => join(folder, `${session}.empty`),
    looked: (session) => join(folder, `${session}.looked`),
    capped: (session) => join(folder, `${session}.capped`),
    ran: (harness, event) => join(folder, `${harness}.${event}.ran`),
  }
}

/** Log of failures before the profile is known. */
export const homeLog = (home: string): string => join(home, 'hooks.jsonl')

/** File that keeps the profile of a harness session. */
export const sessionBinding = (home: string, session: string): string =>
  join(home, 'hooks', 'sessions', `${session}.json`)
