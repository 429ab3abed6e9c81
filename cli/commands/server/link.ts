/**
 * `bridge server setup-link` and `owner-link`. Write access to the data folder is the root of trust. Contract
 * §10.
 */
import { type Command, command } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { configOf, onHost, type SettingOptions, withData } from './settings.ts'

const links = {
  'setup-link': {
    issue: 'issueSetupLink',
    description: 'Print a new one-time link to set up the owner, valid for 30 minutes.',
  },
  'owner-link': {
    issue: 'issueOwnerLink',
    description: 'Print a one-time link that signs the owner in, valid for 5 minutes.',
  },
} as const
export type LinkName = keyof typeof links

export function linkCommand(context: CliContext, name: LinkName, run = link): Command {
  const link = command(name, `bridge server ${name}`).description(links[name].description)
  return withData(link).action((options: SettingOptions) => run(context, name, options))
}

/** Prints the link once, on standard output. Its token is stored nowhere. */
export const link = (context: CliContext, name: LinkName, options: SettingOptions): Promise<void> =>
  onHost(async (server) => {
    const url = await server[links[name].issue](configOf(server, context, options))
    context.output.result({ link: url }, url)
  })
