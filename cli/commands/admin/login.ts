/**
 * `bridge admin login`: signs in with the password, or with a one-time link from the host. Contract §10
 * "Sign-in".
 */
import { type Command, command, Option } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { CommandError } from '../../exit-codes.ts'
import type { PasswordOption } from '../../owner/client.ts'
import { parseLink, requireUrl } from '../../owner/link.ts'
import { loadOwnerProfile } from '../../owner/profile.ts'
import { signInAt } from '../../owner/sign-in.ts'
import { openSecrets } from '../../terminal/secrets.ts'

export interface LoginOptions extends PasswordOption {
  url?: string
  name?: string
  link?: true
}

export function loginCommand(context: CliContext, run = login): Command {
  return command('login', 'bridge admin login --url http://127.0.0.1:8484 --name olu')
    .description('Sign in as the owner or an administrator of a node.')
    .option('--url <url>', 'address of the node (default: the last one)')
    .option('--name <name>', 'your name (default: the last one)')
    .option('--password-stdin', 'read the password from standard input')
    .addOption(
      new Option(
        '--link',
        'sign in with a one-time link, typed on the terminal or read from standard input',
      ).conflicts(['name', 'passwordStdin']),
    )
    .action((options: LoginOptions) => run(context, options))
}

export async function login(context: CliContext, options: LoginOptions): Promise<void> {
  if (options.link === true) return loginByLink(context, options)
  const last = await loadLast(context, options)
  const baseUrl = await requireUrl(options.url ?? last?.base_url)
  const name = options.name ?? last?.name
  if (name === undefined)
    throw new CommandError('usage', 'no name was given', { hint: '--name gives your name' })
  const password = await openSecrets(context.io, options.passwordStdin === true).next('password')
  await signInAt(context, baseUrl, { name, password })
}

async function loginByLink(context: CliContext, { url }: LoginOptions): Promise<void> {
  const secrets = openSecrets(context.io, !context.io.isTerminal.stdin)
  const { token, origin } = parseLink(await secrets.next('one-time link'))
  await signInAt(context, await requireUrl(url ?? origin), { linkToken: token })
}

/** Reads the stored sign-in. An unreadable one must not prevent a new sign-in. */
const loadLast = async (context: CliContext, { url, name }: LoginOptions) =>
  url !== undefined && name !== undefined ? undefined : loadOwnerProfile(context)
