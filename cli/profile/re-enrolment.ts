/**
 * Enrolment into a profile that has an identity. The same agent at the same node gets a new key; all else is
 * refused.
 *
 * Contract §4 "the way after a lost or changed device".
 */
import type { EnrollmentClaimed, IdentityRecord } from '../../sdk/index.ts'
import { oneLine } from '../../sdk/plain-text.ts'
import { isProfileName, type ProfileRecord } from '../../sdk/profile/profile-files.ts'
import type { CliContext } from '../context.ts'
import { CommandError } from '../exit-codes.ts'
import { clientOptions } from '../startup/client-options.ts'
import { profilePaths, readProfile } from './profile.ts'

type Where = Pick<ProfileRecord, 'base_url' | 'allow_plain_http' | 'ca'>

/**
 * Checks the node before the code is used, since this profile cannot use another node's code. @throws
 * CommandError
 */
export async function requireSameNode(
  context: CliContext,
  before: ProfileRecord,
  where: Where,
): Promise<void> {
  const { nodeStatus } = await import('../../sdk/index.ts')
  const { base_url: baseUrl, allow_plain_http: allowPlainHttp, ca } = where
  const options = { ...(await clientOptions(context)), fetch: await context.fetch(ca) }
  const { health } = await nodeStatus({ ...options, baseUrl, allowPlainHttp })
  if (health.server_id === before.identity.server_id) return
  throw new CommandError(
    'conflict',
    `the profile ${context.settings.profile} belongs to the agent ${whoIs(before.identity)} at another node, ${before.base_url}`,
    { hint: 'the same command with --profile NAME enrols into another profile; --replace discards this one' },
  )
}

/**
 * Checks the agent after the claim, because only the node knows which agent a code is for. The node has now
 * bound the code to this machine's key, so the next try uses the same key.
 *
 * @throws CommandError
 */
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
    `this code is for the agent ${whoIs(claimed)}; the profile ${settings.profile} belongs to the agent ${whoIs(before.identity)}`,
    {
      hint: `the same command with --profile ${name} enrols into another profile; --replace replaces ${oneLine(before.identity.agent.name)}`,
    },
  )
}

/** Name of a profile that is free or already belongs to this agent. */
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
