/** `bridge server telemetry-token`: token with which hosts report their load. Contract §11, §12. */
import { type Command, command } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { configOf, onHost, type SettingOptions, withData } from './settings.ts'

export function telemetryTokenCommand(context: CliContext, run = telemetryToken): Command {
  const token = command('telemetry-token', 'bridge server telemetry-token').description(
    'Print a new token with which hosts report their load. The previous token is no longer valid.',
  )
  return withData(token).action((options: SettingOptions) => run(context, options))
}

/** Prints the token once, on standard output. Only its hash is stored. */
export const telemetryToken = (context: CliContext, options: SettingOptions): Promise<void> =>
  onHost(async (server) => {
    const token = await server.issueTelemetryToken(configOf(server, context, options))
    context.output.result({ token }, token)
  })
