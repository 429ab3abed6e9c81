/** The agent that a profile stores, for the client of a command and for that of a hook. */
import { type ProfilePaths, type ProfileRecord, profileSessions } from '../../sdk/profile/profile-files.ts'
import type * as Reader from '../../sdk/reader.ts'
import { CommandError } from '../exit-codes.ts'
import { writeJson } from './json-file.ts'
import { readKeyFile } from './key-file.ts'
import { profilePaths, requireProfile } from './profile.ts'

export interface StoredAgent {
  readonly profile: ProfileRecord
  readonly paths: ProfilePaths
  readonly pem: string
}

/** `command` is the words typed, for a hint. @throws CommandError when there is no identity, or no usable one. */
export async function readAgent(home: string, name: string, command = ''): Promise<StoredAgent> {
  const paths = profilePaths(home, name)
  const profile = await requireProfile(paths, name, command)
  return { profile, paths, pem: await readKeyFile(paths.key(profile.identity.credential_id)) }
}

/** The parts of `sdk/program.ts` and of `sdk/reader.ts` that this file uses. */
type Sdk = Pick<typeof Reader, 'Identity' | 'blankSession' | 'importPrivateKey' | 'version'>

/** Options of the client of a stored agent. @throws CommandError when its key is damaged. */
export function clientOf({ profile, paths, pem }: StoredAgent, sdk: Sdk) {
  const { base_url: baseUrl, allow_plain_http: allowPlainHttp, ca, device } = profile
  const privateKey = importKey(sdk, pem)
  return {
    baseUrl,
    allowPlainHttp,
    ca,
    identity: new sdk.Identity(profile.identity, { privateKey, device: device ?? undefined }),
    sessions: profileSessions(paths, sdk.blankSession(profile.instance_id), writeJson),
    client: { name: 'bridge', version: sdk.version },
  }
}

function importKey({ importPrivateKey }: Sdk, pem: string): ReturnType<Sdk['importPrivateKey']> {
  try {
    return importPrivateKey(pem)
  } catch (cause) {
    throw new CommandError('authentication', 'the private key of the profile is damaged', {
      hint: 'ask the owner for a new enrolment',
      cause,
    })
  }
}
