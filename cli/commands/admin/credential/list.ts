/** `bridge admin credential list`: lists credentials without their secrets. Contract §3. */
import type { Credential } from '../../../../sdk/index.ts'
import { type Command, command } from '../../../command.ts'
import type { CliContext } from '../../../context.ts'
import { asOwner } from '../../../owner/client.ts'
import { agentNames, findProject, gathered, type ProjectOption, withProject } from '../../../owner/names.ts'
import { type NewestOption, orderOf, withNewest } from '../../../owner/order.ts'
import { whole } from '../../../owner/text.ts'

export function listCredentialsCommand(context: CliContext, run = listCredentials): Command {
  const list = command('list', 'bridge admin credential list').description(
    'List the credentials of a project, revoked ones included, without secrets.',
  )
  return withProject(withNewest(list)).action((options: ProjectOption & NewestOption) =>
    run(context, options),
  )
}

export const listCredentials = (context: CliContext, options: ProjectOption & NewestOption): Promise<void> =>
  asOwner(context, async (owner) => {
    const project = await findProject(owner, options.project, context)
    const credentials = await gathered(
      owner.credentials.all(project.id, { ...orderOf(options), signal: context.signal }),
    )
    const nameOf = await agentNames(owner, project, context)
    context.output.table(
      whole('credentials', credentials),
      ['id', 'agent', 'binding', 'scopes', 'standing', 'fingerprint'],
      credentials.map((each) => [
        each.id,
        nameOf(each.agent_id),
        each.binding,
        each.scopes.join(' '),
        standingOf(each),
        each.fingerprint,
      ]),
      'no credentials yet; bridge admin enrollment create connects an agent',
    )
  })

export const standingOf = ({ revoked_at, expires_at, last_used_at }: Credential): string => {
  if (revoked_at !== null) return `revoked ${revoked_at}`
  const used = last_used_at === null ? 'never used' : `used ${last_used_at}`
  return expires_at === null ? used : `${used}, expires ${expires_at}`
}
