/**
 * `bridge admin administrator create`: creates a person who may steer assigned projects.
 *
 * The sign-in link is printed once, on standard output, and stored nowhere.
 *
 * Contract §10.
 */
import type { AdministratorLink } from '../../../../sdk/index.ts'
import { type Command, command, seconds } from '../../../command.ts'
import type { CliContext } from '../../../context.ts'
import { asOwner, confirmed, type PasswordOption } from '../../../owner/client.ts'

export interface LinkOptions extends PasswordOption {
  ttl?: number
}

/** Options of the commands that print a link. */
export const withLink = (to: Command): Command =>
  to
    .option('--ttl <duration>', 'how long the link is valid, 1m to 1d (default 1h)', seconds)
    .option('--password-stdin', 'read the password from standard input, for a sign-in older than ten minutes')

export function createAdministratorCommand(context: CliContext, run = createAdministrator): Command {
  const create = command('create', 'bridge admin administrator create kim')
    .description('Create an administrator, and print the one-time link for the first sign-in.')
    .argument('<name>', 'unique among the people of this node')
  return withLink(create).action((name: string, options: LinkOptions) => run(context, name, options))
}

export const createAdministrator = (context: CliContext, name: string, options: LinkOptions): Promise<void> =>
  asOwner(context, async (owner) => {
    const issued = await confirmed(context, owner, options, () =>
      owner.administrators.create({ name, ...ttlOf(options) }, { signal: context.signal }),
    )
    printLink(context, issued)
  })

export const ttlOf = ({ ttl }: LinkOptions): { ttl_seconds?: number } =>
  ttl === undefined ? {} : { ttl_seconds: ttl }

export function printLink({ output }: CliContext, issued: AdministratorLink): void {
  const { administrator, expires_at, link } = issued
  output.note(`${administrator.name} signs in with it once, until ${expires_at}: bridge admin login --link`)
  output.note('then bridge admin password sets the password of later sign-ins')
  output.result(issued, link)
}
