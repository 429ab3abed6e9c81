/**
 * `bridge server move`: moves an installation from SQLite to PostgreSQL, or back into a new data folder.
 * Contract §12.
 */
import type { MoveReport } from '../../../server/main.ts'
import { type Command, command } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { CommandError } from '../../exit-codes.ts'
import { bytesWords } from '../../transfers/text.ts'
import { storeSettings } from './init.ts'
import { configOf, onHost, type SettingOptions, withData } from './settings.ts'

interface MoveOptions {
  readonly to?: string
}

export function moveCommand(context: CliContext, run = move): Command {
  const move = command('move', 'bridge server move --database postgres://agents@db.example/agents')
    .description(
      'Move a stopped node from SQLite in its data folder to an empty PostgreSQL database that exists, or with --to from PostgreSQL to a new data folder, or with --packages its packages between the data folder and a bucket. All rows are copied and compared; then the old place starts no node. If the command is killed, run it again.',
    )
    .option('--to <folder>', 'move from PostgreSQL to SQLite in this new data folder')
  return withData(move).action((options: SettingOptions & MoveOptions) => run(context, options))
}

export const move = (context: CliContext, options: SettingOptions & MoveOptions): Promise<void> =>
  options.packages === undefined ? moveInstallation(context, options) : movePackages(context, options)

const moveInstallation = (
  context: CliContext,
  { to, ...options }: SettingOptions & MoveOptions,
): Promise<void> =>
  onHost(async (server) => {
    const { clock, random, signal, output } = context
    const { data, databaseUrl: url, envelopeKeyFile } = configOf(server, context, options)
    if (url === undefined) throw withoutDatabase(to)
    const progress = drawnProgress(context)
    const common = { data, url, envelopeKeyFile, clock, random, signal, onProgress: progress.draw }
    let report: MoveReport
    try {
      report =
        to === undefined
          ? await server.moveToDatabase({
              ...common,
              keepSettings: () => storeSettings(server, data, options),
            })
          : await server.moveToFolder({ ...common, to })
    } catch (error) {
      if (signal.aborted) throw new CommandError('interrupted', 'interrupted; the node starts as before')
      throw error
    } finally {
      progress.done()
    }
    print(context, report)
    if (to === undefined) output.next(nextWords(options))
    else output.note(`next: bridge server start --data ${to}, without settings of the database`)
  })

/** Moves the packages of a stopped node. The database stays. */
const movePackages = (context: CliContext, { to, ...options }: SettingOptions & MoveOptions): Promise<void> =>
  onHost(async (server) => {
    const { clock, random, signal, output } = context
    if (to !== undefined || options.database !== undefined || options.databaseUrlFile !== undefined)
      throw new CommandError('usage', 'packages and database move one after the other', {
        hint: 'bridge server move --packages s3://bucket/prefix; then the command without --packages',
      })
    const { packages: _, packagesEndpoint: _e, packagesRegion: _r, ...others } = options
    const config = configOf(server, context, others)
    const place = configOf(server, context, options).packagesPlace
    if ((config.packagesPlace === undefined) === (place === undefined))
      throw new CommandError(
        'usage',
        `the packages are in ${config.packagesPlace?.name ?? 'the data folder'}`,
        {
          hint: 'they move between the data folder and a bucket; to another bucket, they move to the folder first',
        },
      )
    const moved = await server.movePackagesOf({
      ...{ config, to: place, clock, random, signal },
      keepSettings: () => storeSettings(server, config.data, options),
    })
    output.result(
      moved,
      `moved ${moved.packages} packages, ${bytesWords(moved.bytes)}, from ${moved.from} to ${moved.to}`,
    )
    output.next('next: bridge server start')
  })

const withoutDatabase = (to: string | undefined): CommandError =>
  to === undefined
    ? new CommandError('usage', 'which database should the node move to?', {
        hint: 'bridge server move --database postgres://user@host/name; the database must exist and be empty',
      })
    : new CommandError('usage', 'this installation is on SQLite, and no database is named', {
        hint: 'to copy a data folder, stop the node and copy the files',
      })

const nextWords = ({ database, databaseUrlFile }: SettingOptions): string =>
  database !== undefined || databaseUrlFile !== undefined
    ? 'next: bridge server start'
    : 'next: bridge server start, with the settings of the database as they are now'

function print({ output }: CliContext, report: MoveReport): void {
  const { tables, packages, from, to } = report
  const rows = tables.map(({ table, rows, sha256 }) => [table, String(rows), sha256])
  output.table(report, ['table', 'rows', 'sha256'], rows, 'finished a move that had been interrupted')
  if (packages.files > 0)
    output.note(`copied ${packages.files} files of packages, ${bytesWords(packages.bytes)}`)
  output.note(`moved from ${from} to ${to}`)
}

const everyMs = 250

/** Progress on a terminal, in one redrawn line. */
function drawnProgress({ io, settings, clock }: CliContext) {
  const isShown = io.isTerminal.stderr && !settings.json
  let shownAt = 0
  return {
    draw(done: number, total: number): void {
      const now = clock().getTime()
      if (!isShown || now - shownAt < everyMs) return
      shownAt = now
      io.draw(`${done} of ${total} rows`)
    },
    done: () => io.undraw(),
  }
}
