/** `bridge admin credential revoke`: revokes a credential permanently. Contract §3. */
import { type Command, command } from '../../../command.ts'
import type { CliContext } from '../../../context.ts'
import { id } from '../../../ids/parse.ts'
import { asOwner } from '../../../owner/client.ts'
import { findProject, type ProjectOption, withProject } from '../../../owner/names.ts'

export function revokeCredentialCommand(context: CliContext, run = revokeCredential): Command {
  const example =
    "bridge admin credential revoke $(bridge admin credential list | awk 'NR == 2 { print $1 }')"
  const revoke = command('revoke', example)
    .description('Revoke a credential permanently. Its sessions and its open waits end immediately.')
    .argument('<credential_id>', 'as bridge admin credential list shows it', id)
  return withProject(revoke).action((credentialId: string, options: ProjectOption) =>
    run(context, credentialId, options),
  )
}

export const revokeCredential = (
  context: CliContext,
  credentialId: string,
  options: ProjectOption,
): Promise<void> =>
  asOwner(context, async (owner) => {
    const project = await findProject(owner, options.project, context)
    const { signal } = context
    const revoked = await owner.credentials.revoke(project.id, credentialId, { signal })
    const when = revoked.already ? 'was already revoked' : 'revoked'
    context.output.result(revoked, `${when}: ${revoked.credential_id}, ${revoked.revoked_at}`)
  })
