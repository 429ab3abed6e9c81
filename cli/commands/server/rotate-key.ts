/**
 * `bridge server rotate-key`: replaces the envelope key, whether the server runs or not. Contract §9, §12.
 */
import { type Command, command } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { configOf, onHost, type SettingOptions, withData } from './settings.ts'

interface RotateOptions {
  readonly lost?: boolean
}

export function rotateKeyCommand(context: CliContext, run = rotateKey): Command {
  const rotate = command('rotate-key', 'bridge server rotate-key')
    .description(
      'Replace the envelope key by a new one and seal all secrets again with it. If the command is killed, nothing is lost and it can be run again.',
    )
    .option('--lost', 'the old key is lost: create a new one and delete the secrets that it sealed')
  return withData(rotate).action((options: SettingOptions & RotateOptions) => run(context, options))
}

export const rotateKey = (context: CliContext, options: SettingOptions & RotateOptions): Promise<void> =>
  onHost(async (server) => {
    const { lost = false, ...settings } = options
    const report = await server.rotateKey(configOf(server, context, settings), lost)
    context.output.result(
      report,
      `${report.key_file} holds a new key; ${report.resealed} secrets are sealed with it`,
    )
    if (report.unopened > 0)
      context.output.note(
        `${report.unopened} were sealed with a missing key and ${lost ? 'were deleted' : 'cannot be opened'}`,
      )
  })
