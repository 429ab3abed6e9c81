/**
 * Stores an owner's sign-in in `owner.json` in the profile's folder, with mode 0600.
 *
 * It is separate from the agent's identity of the same profile. The two never share a credential.
 *
 * Contract §12.
 */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { KeptSignIn } from '../../sdk/index.ts'
import type { CliContext } from '../context.ts'
import { CommandError } from '../exit-codes.ts'
import { readJson, writeJson } from '../profile/json-file.ts'
import { profilePaths } from '../profile/profile.ts'

/** Stored sign-in: the session, the name of its user, and the certificate authority of the node if one was given. */
export interface OwnerProfile extends KeptSignIn {
  readonly name: string
  readonly ca?: string | undefined
}

type Location = Pick<CliContext, 'home' | 'settings'>

const fileOf = ({ home, settings }: Location): string =>
  join(profilePaths(home, settings.profile).folder, 'owner.json')

/** Returns undefined if no one is signed in. @throws CommandError when the stored file is not usable. */
export async function loadOwnerProfile(location: Location): Promise<OwnerProfile | undefined> {
  const path = fileOf(location)
  const hint = 'bridge admin login --url URL --name NAME writes a new one'
  const stored = await readJson(path, 'authentication', hint)
  if (stored === undefined || isProfile(stored)) return stored
  throw new CommandError('authentication', `${path} is not a complete sign-in`, { hint })
}

/** Stores a sign-in and replaces an earlier one of the profile. */
export const saveOwnerProfile = (location: Location, profile: OwnerProfile): Promise<void> =>
  writeJson(fileOf(location), profile)

/** Deletes the sign-in, if there is one. */
export const forgetOwnerProfile = (location: Location): Promise<void> => rm(fileOf(location), { force: true })

const isProfile = (stored: Record<string, unknown>): stored is OwnerProfile & Record<string, unknown> =>
  ['base_url', 'portal_origin', 'cookie', 'name'].every((name) => typeof stored[name] === 'string') &&
  (stored.ca === undefined || typeof stored.ca === 'string')
