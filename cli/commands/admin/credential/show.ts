/** `bridge admin credential show`: shows a credential without its secret. Contract §3. */
import { type Command, command } from '../../../command.ts'
import type { CliContext } from '../../../context.ts'
import { id } from '../../../ids/parse.ts'
import { asOwner } from '../../../owner/client.ts'
import { agentNames, findProject, type ProjectOption, withProject } from '../../../owner/names.ts'
import { fields } from '../../../owner/text.ts'
import { standingOf } from './list.ts'

export function showCredentialCommand(context: CliContext, run = showCredential): Command {
  const example = "bridge admin credential show $(bridge admin credential list | awk 'NR == 2 { print $1 }')"
  const show = command('show', example)
    .description('Show one credential, without its secret.')
    .argument('<credential_id>', 'as bridge admin credential list shows it', id)
  return withProject(show).action((credentialId: string, options: ProjectOption) =>
    run(context, credentialId, options),
  )
}

export const showCredential = (
  context: CliContext,
  credentialId: string,
  options: ProjectOption,
): Promise<void> =>
  asOwner(context, async (owner) => {
    const project = await findProject(owner, options.project, context)
    const credential = await owner.credentials.get(project.id, credentialId, { signal: context.signal })
    const nameOf = await agentNames(owner, project, context)
    const lines = fields([
      ['id', credential.id],
      ['agent', nameOf(credential.agent_id)],
      ['binding', credential.binding],
      ['scopes', credential.scopes.join(' ')],
      ['standing', standingOf(credential)],
      ['fingerprint', credential.fingerprint],
      ['created', credential.created_at],
    ])
    context.output.result(credential, lines)
  })
