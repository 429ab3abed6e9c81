/** `bridge server backup`: writes the database to one file, whether the server runs or not. Contract §12. */
import type { BackupReport } from '../../../server/main.ts'
import { type Command, command } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { CommandError } from '../../exit-codes.ts'
import { bytesWords } from '../../transfers/text.ts'
import { configOf, onHost, onPostgres, type SettingOptions, withData } from './settings.ts'

export function backupCommand(context: CliContext, run = backup): Command {
  const backup = command('backup', 'bridge server backup /var/backups/bridge')
    .description(
      'Write the whole database to one new file, checked and synced, whether the server runs or not. In a folder, the file is named by the time. The envelope key and the bytes of packages are not included.',
    )
    .argument('<destination>', 'a file that does not exist, or a folder that does')
  return withData(backup).action((destination: string, options: SettingOptions) =>
    run(context, destination, options),
  )
}

export const backup = (context: CliContext, destination: string, options: SettingOptions): Promise<void> =>
  onHost(async (server) => {
    const { clock, random, signal, output } = context
    const { data, databaseUrl } = configOf(server, context, options)
    if (databaseUrl !== undefined) throw onPostgres('is backed up')
    const progress = drawnProgress(context)
    let made: BackupReport
    try {
      made = await server.backUp({ data, destination, clock, random, signal, onProgress: progress.draw })
    } catch (error) {
      if (signal.aborted) throw new CommandError('interrupted', 'interrupted; there are no leftover files')
      throw error
    } finally {
      progress.done()
    }
    output.result(made, made.file)
    for (const name of made.removed) output.note(`removed ${name}, a leftover of a killed backup`)
    output.note(`${bytesWords(made.bytes)}, sha256 ${made.sha256}`)
    output.note(
      'not included: the envelope key and config.json, which are on this host, and the bytes of packages',
    )
  })

const everyMs = 250

/** Progress on a terminal, in one redrawn line. */
function drawnProgress({ io, settings, clock }: CliContext) {
  const isShown = io.isTerminal.stderr && !settings.json
  let shownAt = 0
  return {
    draw(copied: number, total: number): void {
      const now = clock().getTime()
      if (!isShown || now - shownAt < everyMs) return
      shownAt = now
      io.draw(`${bytesWords(copied)} of ${bytesWords(total)}`)
    },
    done: () => io.undraw(),
  }
}
