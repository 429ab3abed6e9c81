/**
 * `bridge server maintain`: runs the hourly maintenance of the server once. Contract §10 "Retention", §12.
 */
import { type Command, command } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { CommandError } from '../../exit-codes.ts'
import { relative } from '../../terminal/words.ts'
import { configOf, onHost, type SettingOptions, withData } from './settings.ts'

export function maintainCommand(context: CliContext, run = maintain): Command {
  const maintain = command('maintain', 'bridge server maintain').description(
    'Delete old messages, audit records, stored answers and expired items now, whether the server runs or not.',
  )
  return withData(maintain).action((options: SettingOptions) => run(context, options))
}

export const maintain = (context: CliContext, options: SettingOptions): Promise<void> =>
  onHost(async (server) => {
    const { output, signal, clock } = context
    const report = await server.maintain(configOf(server, context, options), signal)
    if (signal.aborted)
      throw new CommandError('interrupted', 'interrupted; what was deleted so far stays deleted')
    const jump = report.skipped_for_jump_seconds
    if (jump === null) {
      const rows = report.jobs.map(({ name, done }) => [name, String(done)])
      output.table(report, ['what', 'how many'], rows, 'nothing to do')
      return
    }
    const seen = relative(new Date(clock().getTime() - jump * 1000).toISOString(), clock())
    output.result(report, `nothing removed: by this clock the node was last seen ${seen}`)
    output.note('hint: if the clock is right, run it again')
  })
