/** `bridge admin setup`: creates the owner of a new node with its one-time link. Contract §10 "Sign-in". */
import { type Command, command } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import type { PasswordOption } from '../../owner/client.ts'
import { withHint } from '../../owner/client.ts'
import { parseLink, requireUrl } from '../../owner/link.ts'
import { signInAt } from '../../owner/sign-in.ts'
import { readAuthority } from '../../profile/authority.ts'
import { openSecrets } from '../../terminal/secrets.ts'

export interface SetupOptions extends PasswordOption {
  name: string
  url?: string
  ca?: string
}

export function setupCommand(context: CliContext, run = setup): Command {
  return command('setup', 'bridge admin setup --name olu')
    .description('Create the owner of a new node with its one-time link, and sign in.')
    .requiredOption('--name <name>', 'your name, as agents will see it')
    .option('--url <url>', 'address of the node (default: that of the link)')
    .option(
      '--password-stdin',
      'read from standard input: the link or its token, then the password, one per line',
    )
    .option('--ca <file>', 'trust this certificate authority at the node; the sign-in keeps it')
    .action((options: SetupOptions) => run(context, options))
}

export async function setup(context: CliContext, options: SetupOptions): Promise<void> {
  const secrets = openSecrets(context.io, options.passwordStdin === true)
  const { token, origin } = parseLink(await secrets.next('set-up link'))
  const baseUrl = await requireUrl(options.url ?? origin)
  const ca = options.ca === undefined ? undefined : await readAuthority(options.ca)
  const password = await secrets.nextChosen('new password')
  const hint =
    'bridge server setup-link, run on the host of the node, prints a new one; each works once, for 30 minutes'
  const act = () => signInAt(context, baseUrl, { token, name: options.name, password }, ca)
  await withHint('sign_in_failed', hint, act)
}
