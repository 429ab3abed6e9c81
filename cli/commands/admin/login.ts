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
import { readAuthority } from '../../profile/authority.ts'
import { openSecrets } from '../../terminal/secrets.ts'

export interface LoginOptions extends PasswordOption {
  url?: string
  name?: string
  link?: true
  ca?: string
}

export function loginCommand(context: CliContext, run = login): Command {
  return command('login', 'bridge admin login --url http://127.0.0.1:8484 --name olu')
    .description('Sign in as the owner or an administrator of a node.')
    .option('--url <url>', 'address of the node (default: the last one)')
    .option('--name <name>', 'your name (default: the last one)')
    .option('--password-stdin', 'read the password from standard input')
    .option('--ca <file>', 'trust this certificate authority at the node; the sign-in keeps it')
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
  const ca = await authorityOf(context, baseUrl, options)
  const password = await openSecrets(context.io, options.passwordStdin === true).next('password')
  await signInAt(context, baseUrl, { name, password }, ca)
}

async function loginByLink(context: CliContext, options: LoginOptions): Promise<void> {
  const secrets = openSecrets(context.io, !context.io.isTerminal.stdin)
  const { token, origin } = parseLink(await secrets.next('one-time link'))
  const baseUrl = await requireUrl(options.url ?? origin)
  await signInAt(context, baseUrl, { linkToken: token }, await authorityOf(context, baseUrl, options))
}

/** Returns the given authority, else that of the last sign-in at this node. */
async function authorityOf(
  context: CliContext,
  baseUrl: string,
  { ca }: LoginOptions,
): Promise<string | undefined> {
  if (ca !== undefined) return readAuthority(ca)
  const last = await loadOwnerProfile(context).catch(() => undefined)
  return last?.base_url === baseUrl ? last.ca : undefined
}

/** Reads the stored sign-in. An unreadable one must not prevent a new sign-in. */
const loadLast = async (context: CliContext, { url, name }: LoginOptions) =>
  url !== undefined && name !== undefined ? undefined : loadOwnerProfile(context)
