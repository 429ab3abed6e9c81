/** State of an installation and of the hooks that ran, for `hooks status` and `doctor`. */
import { readFile, stat } from 'node:fs/promises'
import { touchedAt } from '../files.ts'
import { type Harness, type HarnessName, harnesses } from '../harnesses.ts'
import { readLog } from '../hook-log.ts'
import { placesOf } from '../places.ts'
import { runningWaiter } from '../waiter-record.ts'
import { type Installation, sha256 } from './record.ts'

/** Last notice of a harness. `read`: whether the profile read its inbox after it. */
export interface LastNotice {
  readonly at: string
  readonly event: string
  readonly read: boolean
}

export interface ProfileActivity {
  readonly profile: string
  /** Time of the last run of each event; null if it never ran. */
  readonly events: Readonly<Record<string, string | null>>
  readonly waiter: { readonly pid: number; readonly since: string } | null
  readonly last_notice: LastNotice | null
}

/** Returns what the hooks of this harness did for a profile. */
export function activityOf(home: string, harness: HarnessName, profile: string): ProfileActivity {
  const places = placesOf(home, profile)
  const { events }: Harness = harnesses[harness]
  const ranAt = (event: string) => {
    const at = touchedAt(places.ran(harness, event))
    return at === undefined ? null : new Date(at).toISOString()
  }
  const notice = readLog(places.log).findLast(
    (line) => line.harness === harness && (line.outcome === 'noticed' || line.outcome === 'woke'),
  )
  const readAt = touchedAt(places.read) ?? 0
  const waiter = runningWaiter(places)
  return {
    profile,
    events: Object.fromEntries(Object.keys(events).map((event) => [event, ranAt(event)])),
    waiter: waiter?.harness === harness ? { pid: waiter.process.pid, since: waiter.since } : null,
    last_notice:
      notice === undefined
        ? null
        : { at: notice.at, event: notice.event, read: readAt >= Date.parse(notice.at) },
  }
}

export const profilesOf = ({ profile, folders }: Installation): string[] => [
  ...new Set([...(profile === null ? [] : [profile]), ...Object.values(folders)]),
]

/** Returns what is wrong with an installation, each as one sentence. */
export async function faultsOf(installed: Installation): Promise<string[]> {
  const faults: string[] = []
  const programs = [
    ['Node', installed.node],
    ['the program', installed.program],
  ] as const
  for (const [what, path] of programs) {
    if (!(await isThere(path))) faults.push(`${what} of its hooks is gone: ${path}`)
  }
  for (const { path, sha256: expected } of [...installed.files, ...installed.shared]) {
    const bytes = await readFile(path).catch(() => undefined)
    if (bytes === undefined) faults.push(`a file of it is gone: ${path}`)
    else if (installed.files.some((file) => file.path === path) && sha256(bytes) !== expected)
      faults.push(`a file of it was changed: ${path}`)
  }
  for (const { path, entries } of installed.shared) {
    const text = await readFile(path, 'utf8').catch(() => undefined)
    const words = entries.flatMap(({ value }) => commandsIn(value))
    if (text !== undefined && words.some((word) => !text.includes(JSON.stringify(word))))
      faults.push(`an entry of it is missing: ${path}`)
  }
  return faults
}

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )

/** Returns the commands in an entry, which stand in the file as JSON and TOML print them. */
function commandsIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) =>
    key === 'command' && typeof inner === 'string' ? [inner] : commandsIn(inner),
  )
}
