/** `bridge server init`: creates a new installation in a data folder. Contract §12. */
import { join, resolve } from 'node:path'
import type { Config, Initialised } from '../../../server/main.ts'
import { type Command, command } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { readJson, writeJson } from '../../profile/json-file.ts'
import { configOf, givenSettings, onHost, type Server, type SettingOptions, withData } from './settings.ts'

export function initCommand(context: CliContext, run = init): Command {
  const init = command('init', 'bridge server init').description(
    'Create an installation: data folder, database, keys, and a one-time link to set up its owner. Settings given here are stored in config.json.',
  )
  return withData(init).action((options: SettingOptions) => run(context, options))
}

export const init = (context: CliContext, options: SettingOptions): Promise<void> =>
  onHost(async (server) => {
    const config = configOf(server, context, options)
    const { serverId, setupLink } = await createInstallation(server, context, config, options)
    context.output.next(
      'next: bridge server start; then, within 30 minutes, open this link in a browser, or: bridge admin setup --name NAME',
    )
    const made = { server_id: serverId, data: config.data, setup_link: setupLink }
    context.output.result(made, setupLink)
  })

/** Creates the installation and stores the given settings. @throws AlreadyInitialisedError */
export async function createInstallation(
  server: Server,
  { output }: CliContext,
  config: Config,
  options: SettingOptions,
): Promise<Initialised> {
  const made = await server.initServer(config)
  await storeSettings(server, config.data, options)
  output.note(`created an installation in ${config.data}`)
  return made
}

/** Stores the given settings in `config.json`. */
export const storeSettings = (server: Server, data: string, options: SettingOptions): Promise<void> =>
  keepSettings(data, absolute(server, givenSettings(server, options)))

/** Makes paths absolute, because the next start may have another working folder. */
const absolute = ({ settings }: Server, given: Readonly<Record<string, string>>): Record<string, string> => {
  const files = new Set<string>(settings.filter(({ kind }) => kind === 'file').map(({ name }) => name))
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => [name, files.has(name) ? resolve(value) : value]),
  )
}

/** Stores the settings for `bridge server start`. Other settings in the file stay. */
async function keepSettings(data: string, given: Readonly<Record<string, string>>): Promise<void> {
  if (Object.keys(given).length === 0) return
  const path = join(data, 'config.json')
  await writeJson(path, { ...(await readJson(path, 'usage')), ...given })
}
