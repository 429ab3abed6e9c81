/**
 * `bridge server restore`: makes a backup the installation of a data folder. Sessions, links and signed
 * requests from before the restore are no longer accepted. Contract §12.
 */
import { type Command, command } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { ago } from '../../terminal/words.ts'
import { reviewNotes, reviewText } from './restore-text.ts'
import { configOf, onHost, onPostgres, type SettingOptions, withData } from './settings.ts'

interface RestoreOptions {
  readonly replace?: boolean
  readonly acceptCredentials?: boolean
}

export function restoreCommand(context: CliContext, run = restore): Command {
  const restore = command('restore', 'bridge server restore bridge-20261121T080501Z.db')
    .description(
      'Make a backup the installation of the data folder, while the server is stopped. Earlier sessions, sign-ins, links, grants and signed requests are refused afterwards. Prints a list of what to check.',
    )
    .argument('<file>', 'a file that bridge server backup wrote')
    .option('--replace', 'replace an existing installation; its database is kept under another name')
    .option(
      '--accept-credentials',
      'confirm that no credential was revoked since the backup; agents then stay enabled without a check',
    )
  return withData(restore).action((file: string, options: RestoreOptions & SettingOptions) =>
    run(context, file, options),
  )
}

export const restore = (
  context: CliContext,
  file: string,
  options: RestoreOptions & SettingOptions,
): Promise<void> =>
  onHost(async (server) => {
    const { clock, random, output } = context
    const { replace = false, acceptCredentials = false, ...settings } = options
    const config = configOf(server, context, settings)
    if (config.databaseUrl !== undefined) throw onPostgres('is restored')
    const report = await server.restoreBackup({ config, file, replace, acceptCredentials, clock, random })
    const { data: restored, newest_record_at, kept, known, envelope_key_made } = report
    const first = `restored ${restored}; its newest record is from ${ago(newest_record_at, clock())}`
    output.result(report, reviewText(report, first, clock()))
    if (kept !== null) output.next(`the previous database is kept in ${kept}`)
    const notes = { what: 'the backup', known, envelope_key_made }
    for (const note of reviewNotes(report, notes, clock())) output.next(note)
  })
