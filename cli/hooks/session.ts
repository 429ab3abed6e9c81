/** The harness session of a hook, and the profile that it uses. */
import { type HookContext, HookFailure } from './context.ts'
import { readObject, replaceObject, touchedAt } from './files.ts'
import type { HarnessName } from './harnesses.ts'
import type { HookInput } from './input.ts'
import { chosenProfile, installRecordPath } from './install-record.ts'
import { type Places, placesOf, sessionBinding } from './places.ts'

export interface HookSession {
  readonly harness: HarnessName
  readonly event: string
  readonly input: HookInput
  /** Harness and id of the session; names its files. */
  readonly name: string
  readonly profile: string
  readonly places: Places
}

/** Opens the session, or returns undefined if it has no profile; see install-record.ts. */
export function openSession(
  context: HookContext,
  harness: HarnessName,
  event: string,
  input: HookInput,
  given: string | undefined,
): HookSession | undefined {
  const { environment, home, workingDirectory } = context
  const name = sessionName(harness, input.sessionId)
  const folder = environment.CLAUDE_PROJECT_DIR || input.folder || workingDirectory
  const profile =
    given ??
    (environment.BRIDGE_PROFILE || undefined) ??
    boundProfile(home, name) ??
    installedProfile(home, harness, folder)
  if (profile === null) return undefined
  return { harness, event, input, name, profile, places: placesOf(home, profile) }
}

function installedProfile(home: string, harness: string, folder: string): string | null {
  const path = installRecordPath(home, harness)
  const record = readObject(path)
  if (record !== undefined) return chosenProfile(record, folder)
  if (touchedAt(path) === undefined) return 'default'
  // The default profile may be another identity than the one that was installed.
  throw new HookFailure('invalid_installation', `${path} cannot be read: install the hooks again`)
}

export const sessionName = (harness: string, id: string): string => `${harness}-${id}`

function boundProfile(home: string, name: string): string | undefined {
  const profile = readObject(sessionBinding(home, name))?.profile
  return typeof profile === 'string' ? profile : undefined
}

/** Binds the session to its profile, also when it is resumed later in another folder. */
export function bindSession({ home, clock }: HookContext, { name, profile }: HookSession): void {
  replaceObject(sessionBinding(home, name), { profile, at: clock().toISOString() })
}
