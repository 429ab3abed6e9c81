/**
 * `bridge admin agent recipient-key`: replaces the key with which others encrypt for an agent. Contract §9.
 */
import { type Command, command } from '../../../command.ts'
import type { CliContext } from '../../../context.ts'
import { asOwner, confirmed, type PasswordOption } from '../../../owner/client.ts'
import { findAgent, findProject, type ProjectOption, withProject } from '../../../owner/names.ts'

export type RecipientKeyOptions = ProjectOption & PasswordOption

export function recipientKeyCommand(context: CliContext, run = setRecipientKey): Command {
  const example =
    'bridge admin agent recipient-key ada age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj'
  const set = command('recipient-key', example)
    .description("Set an agent's trusted age public key; its private key stays on its machine.")
    .argument('<agent>', 'name or id')
    .argument('<recipient>', 'an age X25519 recipient: age1 and 58 characters')
    .option('--password-stdin', 'read the password from standard input, for a sign-in older than ten minutes')
  return withProject(set).action((agent: string, recipient: string, options: RecipientKeyOptions) =>
    run(context, { agent, recipient }, options),
  )
}

export const setRecipientKey = (
  context: CliContext,
  { agent, recipient }: { readonly agent: string; readonly recipient: string },
  options: RecipientKeyOptions,
): Promise<void> =>
  asOwner(context, async (owner) => {
    const project = await findProject(owner, options.project, context)
    const agentId = await findAgent(owner, project, agent, context)
    const key = await confirmed(context, owner, options, () =>
      owner.recipientKeys.set(project.id, agentId, recipient, { signal: context.signal }),
    )
    context.output.result(key, `recipient key of ${agent}: ${key.fingerprint}`)
  })
