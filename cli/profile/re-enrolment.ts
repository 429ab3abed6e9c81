/**
 * An enrolment into a profile that has an identity: for the same agent at the same node a new key, else refused.
 *
 * Contract §4 "the way after a lost or changed device".
 */
import type { EnrollmentClaimed, IdentityRecord } from '../../sdk/index.ts'
import { oneLine } from '../../sdk/plain-text.ts'
import { isProfileName, type ProfileRecord } from '../../sdk/storage/profile-files.ts'
import type { CliContext } from '../context.ts'
import { CommandError } from '../exit-codes.ts'
import { clientOptions } from '../owner/client.ts'
import { profilePaths, readProfile } from './profile.ts'

type Where = Pick<ProfileRecord, 'base_url' | 'allow_plain_http'>

/** Asked before the code is used: at another node it would be no use to this profile. @throws CommandError */
export async function requireSameNode(
  context: CliContext,
  before: ProfileRecord,
  where: Where,
): Promise<void> {
  const { nodeStatus } = await import('../../sdk/index.ts')
  const { base_url: baseUrl, allow_plain_http: allowPlainHttp } = where
  const { health } = await nodeStatus({ ...(await clientOptions(context)), baseUrl, allowPlainHttp })
  if (health.server_id === before.identity.server_id) return
  throw new CommandError(
    'conflict',
    `the profile ${context.settings.profile} is the agent ${whoIs(before.identity)} at another node, ${before.base_url}`,
    { hint: 'the same command with --profile NAME enrols beside it; --replace gives it up' },
  )
}

/** The node alone knows whose a code is. It is this machine's now: the next step takes the same key. @throws CommandError */
export async function requireSameAgent(
  context: CliContext,
  before: ProfileRecord,
  claimed: EnrollmentClaimed,
): Promise<void> {
  if (claimed.agent.id === before.identity.agent.id) return
  const { settings, home } = context
  const name = await freeProfile(home, claimed)
  throw new CommandError(
    'conflict',
    `this code is for the agent ${whoIs(claimed)}; the profile ${settings.profile} is the agent ${whoIs(before.identity)}`,
    {
      hint: `the same command with --profile ${name} enrols beside it; with --replace it takes the place of ${oneLine(before.identity.agent.name)}`,
    },
  )
}

/** A profile that is this agent's, or nobody's yet. */
async function freeProfile(home: string, { agent, project }: IdentityRecord): Promise<string> {
  for (const name of [agent.name, `${agent.name}-${project.name}`]) {
    if (!isProfileName(name)) continue
    const there = await readProfile(profilePaths(home, name)).catch(() => null)
    if (there === undefined || there?.identity.agent.id === agent.id) return name
  }
  return 'NAME'
}

const whoIs = ({ agent, project }: IdentityRecord): string =>
  `${oneLine(agent.name)} of ${oneLine(project.name)}`
