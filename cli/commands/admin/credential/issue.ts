/**
 * `bridge admin credential issue`: issues a legacy credential, for a client that cannot sign. Prefer an
 * enrolment.
 *
 * The secret is printed once, on standard output, and stored nowhere. Contract §3.
 */
import type { CredentialInput } from '../../../../sdk/index.ts'
import { type Command, command } from '../../../command.ts'
import type { CliContext } from '../../../context.ts'
import { id } from '../../../ids/parse.ts'
import { asOwner, confirmed, type PasswordOption } from '../../../owner/client.ts'
import { findAgent, findProject, type ProjectOption, withProject } from '../../../owner/names.ts'

export interface IssueCredentialOptions extends ProjectOption, PasswordOption {
  readonly expiresAt?: string
  readonly replaces?: string
}

export function issueCredentialCommand(context: CliContext, run = issueCredential): Command {
  const issue = command('issue', 'bridge admin credential issue ada')
    .description(
      'Issue a legacy credential with a secret. Prefer an enrolment: its key never leaves the machine.',
    )
    .argument('<agent>', 'name or id')
    .option('--expires-at <timestamp>', 'such as 2027-01-31T00:00:00.000Z (default: never)')
    .option('--replaces <credential_id>', 'revoke this credential immediately', id)
    .option('--password-stdin', 'read the password from standard input, for a sign-in older than ten minutes')
  return withProject(issue).action((agent: string, options: IssueCredentialOptions) =>
    run(context, agent, options),
  )
}

export const issueCredential = (
  context: CliContext,
  agent: string,
  options: IssueCredentialOptions,
): Promise<void> =>
  asOwner(context, async (owner) => {
    const project = await findProject(owner, options.project, context)
    const agentId = await findAgent(owner, project, agent, context)
    const issued = await confirmed(context, owner, options, () =>
      owner.credentials.issue(project.id, agentId, inputOf(options), { signal: context.signal }),
    )
    context.output.note('send it as Authorization: AgentKey …; it is not shown again')
    context.output.result(issued, `${issued.credential.id}.${issued.secret}`)
  })

const inputOf = ({ expiresAt, replaces }: IssueCredentialOptions): CredentialInput => ({
  kind: 'legacy',
  ...(expiresAt === undefined ? {} : { expires_at: expiresAt }),
  ...(replaces === undefined ? {} : { replaces }),
})
