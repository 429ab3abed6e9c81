/**
 * `bridge server restored`: finishes a restore that the tools of PostgreSQL made. Sessions, links and signed
 * requests from before are no longer accepted. Contract §12.
 */
import { type Command, command } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { ago } from '../../terminal/words.ts'
import { reviewNotes, reviewText } from './restore-text.ts'
import { configOf, onHost, type SettingOptions, withData } from './settings.ts'

interface RestoredOptions {
  readonly acceptCredentials?: boolean
}

export function restoredCommand(context: CliContext, run = restored): Command {
  const restored = command('restored', 'bridge server restored')
    .description(
      'Finish a restore of the PostgreSQL database, while the server is stopped. Run it after a dump or a backup was loaded, or when the server says that the database has lost confirmed writes. Earlier sessions, sign-ins, links, grants and signed requests are refused afterwards. Prints a list of what to check.',
    )
    .option(
      '--accept-credentials',
      'confirm that no credential was revoked since the backup; agents then stay enabled without a check',
    )
  return withData(restored).action((options: RestoredOptions & SettingOptions) => run(context, options))
}

export const restored = (context: CliContext, options: RestoredOptions & SettingOptions): Promise<void> =>
  onHost(async (server) => {
    const { clock, random, output } = context
    const { acceptCredentials = false, ...settings } = options
    const config = configOf(server, context, settings)
    const report = await server.finishDatabaseRestore({ config, acceptCredentials, clock, random })
    const { forgotten, complete, newest_record_at, envelope_key_made } = report
    const first = `accepted the database; its newest record is from ${ago(newest_record_at, clock())}`
    output.result(report, reviewText(report, first, clock()))
    output.note(forgotten ?? 'the server has found nothing that the database has lost')
    if (complete) output.note('the database holds everything that it confirmed to the last server')
    const notes = { what: 'the database', known: complete, envelope_key_made }
    for (const note of reviewNotes(report, notes, clock())) output.next(note)
  })
