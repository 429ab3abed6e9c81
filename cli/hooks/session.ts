/** The harness session of a hook, and the profile that it uses. */
import type { HookContext } from './context.ts'
import { readObject, replaceObject } from './files.ts'
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

/**
 * Finds the profile: the given one (`--profile` or BRIDGE_PROFILE), else the one with which the session began,
 * else that of its folder, of the installation, or `default`.
 */
export function openSession(
  context: HookContext,
  harness: HarnessName,
  event: string,
  input: HookInput,
  given: string | undefined,
): HookSession {
  const { environment, home, workingDirectory } = context
  const name = sessionName(harness, input.sessionId)
  const folder = environment.CLAUDE_PROJECT_DIR || input.folder || workingDirectory
  const profile =
    given ??
    (environment.BRIDGE_PROFILE || undefined) ??
    boundProfile(home, name) ??
    chosenProfile(readObject(installRecordPath(home, harness)), folder) ??
    'default'
  return { harness, event, input, name, profile, places: placesOf(home, profile) }
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
