/**
 * Where an owner's sign-in lives: `owner.json` in the profile's folder, 0600.
 *
 * It stands apart from an agent's identity of the same profile: the two never share a credential.
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

/** What is kept: the session, and whose it is. */
export interface OwnerProfile extends KeptSignIn {
  readonly name: string
}

type Place = Pick<CliContext, 'home' | 'settings'>

const fileOf = ({ home, settings }: Place): string =>
  join(profilePaths(home, settings.profile).folder, 'owner.json')

/** Undefined when nobody is signed in. @throws CommandError when what is stored is not usable. */
export async function loadOwnerProfile(place: Place): Promise<OwnerProfile | undefined> {
  const path = fileOf(place)
  const hint = 'bridge admin login --url URL --name NAME writes it again'
  const stored = await readJson(path, 'authentication', hint)
  if (stored === undefined || isProfile(stored)) return stored
  throw new CommandError('authentication', `${path} is not a whole sign-in`, { hint })
}

/** Takes the place of an earlier sign-in of the profile. */
export const saveOwnerProfile = (place: Place, profile: OwnerProfile): Promise<void> =>
  writeJson(fileOf(place), profile)

/** Nothing stored is not an error. */
export const forgetOwnerProfile = (place: Place): Promise<void> => rm(fileOf(place), { force: true })

const isProfile = (stored: Record<string, unknown>): stored is OwnerProfile & Record<string, unknown> =>
  ['base_url', 'portal_origin', 'cookie', 'name'].every((name) => typeof stored[name] === 'string')
