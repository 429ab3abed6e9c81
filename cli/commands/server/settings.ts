/**
 * Turns the server's table of settings into flags, and its errors into exit codes.
 *
 * The server is loaded only for its own commands, which keeps the start of all others short.
 *
 * Contract §12.
 */
import type { SettingName } from '../../../server/main.ts'
import type { Command } from '../../command.ts'
import type { CliContext } from '../../context.ts'
import { CommandError, type ExitName, refusalExits } from '../../exit-codes.ts'
import { spoken } from '../../failures/failure-words.ts'

export const server = () => import('../../../server/main.ts')
export type Server = Awaited<ReturnType<typeof server>>

export interface DataOption {
  readonly data?: string | undefined
}

/** Flags as commander names them: `portalOrigin` for `--portal-origin`. */
export type SettingOptions = DataOption & Readonly<Record<string, string | undefined>>

/** `--data`, on every host command. */
export const withData = (to: Command): Command =>
  to.option('--data <folder>', 'the data folder (BRIDGE_DATA)')

export type Defaults = Partial<Record<SettingName, string>>

/** The settings that name the database. */
export const databaseSettings: ReadonlySet<string> = new Set([
  'database',
  'database_url_file',
  'database_listen_url',
  'database_listen_url_file',
])

/**
 * Adds one flag per setting, or for some of them only. `defaults` replaces some defaults of the table. Called
 * before the command parses its arguments, because the table is loaded only then.
 */
export async function addSettings(
  to: Command,
  defaults: Defaults = {},
  only?: ReadonlySet<string>,
): Promise<void> {
  const { settings } = await server()
  for (const { name, env, meaning, fallback } of settings) {
    if (only?.has(name) === false) continue
    const used = defaults[name] ?? fallback
    const usual = used === '' ? '' : `, default ${used}`
    to.option(`${flagOf(name)} <value>`, `${meaning} (${env}${usual})`)
  }
}

const optionName = (setting: string): string =>
  setting.replace(/_([a-z])/g, (_whole, letter: string) => letter.toUpperCase())

/** Returns the settings that were given as flags, by their names in the table. */
export function givenSettings(
  { settings }: Server,
  options: SettingOptions,
): Partial<Record<SettingName, string>> {
  const pairs = settings.map(({ name }) => [name, options[optionName(name)]] as const)
  return Object.fromEntries(pairs.filter(([, value]) => value !== undefined))
}

/** Combines flags, environment, file and defaults into one configuration. */
export function configOf(
  loaded: Server,
  { environment }: CliContext,
  options: SettingOptions,
  defaults: Defaults = {},
) {
  const data = options.data === undefined ? {} : { data: options.data }
  return loaded.readConfig({ ...data, ...givenSettings(loaded, options) }, environment, defaults)
}

/** Error of a command that works on the file of SQLite only. */
export const onPostgres = (what: string): CommandError =>
  new CommandError('usage', `this installation is on PostgreSQL, which ${what} by its own tools`, {
    hint: 'pg_dump and pg_restore, pgBackRest, or the snapshots of a managed database; see docs/operations.md',
  })

/** Runs host work and turns the named errors of the server into exit codes. */
export async function onHost<T>(act: (loaded: Server) => Promise<T>): Promise<T> {
  const loaded = await server()
  try {
    return await act(loaded)
  } catch (cause) {
    throw hostFailure(cause instanceof Error && cause.name === 'ConfigError' ? asFlags(loaded, cause) : cause)
  }
}

/** Replaces setting names by their flags, except in faults of `config.json`, which begin with its path. */
function asFlags({ settings }: Server, cause: Error): Error {
  if (cause.message.startsWith('/')) return cause
  const all = settings.map(({ name }) => name)
  const names = all.filter((name) => name.includes('_'))
  // A name of one word is also a word of the sentence, except as its subject.
  const named = new RegExp(`\\b(?:${names.join('|')})\\b|^(?:${all.join('|')})(?= must )`, 'g')
  const message = cause.message.replace(named, flagOf)
  return Object.assign(new Error(message, { cause }), { name: cause.name })
}

const flagOf = (setting: string): string => `--${setting.replaceAll('_', '-')}`

/**
 * Turns an error of the server into a CommandError. The server is a separate bundle, so errors are known by
 * name.
 */
function hostFailure(cause: unknown): unknown {
  if (!(cause instanceof Error)) return cause
  const { name } = cause
  const code = codeOf(cause)
  if (/^SQLITE_(?:CORRUPT|NOTADB)/.test(code)) return damaged(cause, damagedFile)
  if (/^XX00[12]$/.test(code)) return damaged(cause, damagedPages)
  const [exit, hint] = named[name] ?? (name === 'ApiError' ? faultExit(code) : systemExits[code]) ?? []
  return exit === undefined ? cause : new CommandError(exit, spoken(cause.message), { hint, cause })
}

/** Returns the code of an error, or that of its cause: a failed migration has the error of the database. */
function codeOf({ code, cause }: Error & { readonly code?: string }): string {
  return code ?? (cause instanceof Error ? codeOf(cause) : '')
}

/** Error for a database that SQLite or PostgreSQL found damaged while reading. */
const damaged = (cause: Error, hint: string): CommandError =>
  new CommandError('integrity', `the database is damaged: ${cause.message}`, { hint, cause })

const damagedFile =
  'bridge server doctor checks every page; bridge server restore BACKUP --replace replaces it by a backup'

const damagedPages =
  'fail over to a standby of PostgreSQL, or restore a backup and run bridge server restored'

type Way = readonly [exit: ExitName, hint?: string | undefined]

const named: Readonly<Record<string, Way>> = {
  ConfigError: ['usage', 'bridge server start --help lists the settings'],
  NotInitialisedError: ['not_found', 'bridge server init creates an installation'],
  AlreadyInitialisedError: [
    'conflict',
    'bridge server start runs it; --data chooses another folder; bridge server restore --replace replaces it',
  ],
  DatabaseInitialisedError: [
    'conflict',
    'for one more node, copy config.json and envelope.key from the data folder of the first one, then: bridge server start',
  ],
  OtherNodesError: [
    'conflict',
    'stop them, run the command again, copy the new key to the data folder of each, then start them',
  ],
  DataFolderLockedError: ['conflict', 'bridge server status shows the running server'],
  NewerDatabaseError: [
    'conflict',
    'a newer bridge has used this database; install that version or a newer one',
  ],
  OutdatedProgramError: [
    'conflict',
    'bridge --version names this program; bridge server status shows the others',
  ],
  MigrationHistoryError: ['conflict', 'is this the data folder of another program, or of a changed build?'],
  UnsafeStoreError: ['unexpected'],
  OtherDatabaseError: ['usage', 'name the same database in both, or leave database_listen_url out'],
  UnfitDatabaseError: ['unexpected', 'bridge server doctor examines the database'],
  DatabaseUnreachableError: ['unexpected', 'bridge server doctor examines the database'],
  PackagesUnusableError: ['unexpected', 'bridge server doctor examines the store of packages'],
  DatabaseForgotError: [
    'conflict',
    'if the loss cannot be undone: bridge server restored ends what the lost writes may have revoked, then the node starts',
  ],
  DatabaseServedError: ['conflict', 'bridge server status lists the nodes of the database'],
  AlreadyRestoredError: ['conflict', 'bridge server start'],
  MovedError: ['conflict', 'start the node with the settings of its new place'],
  MoveUnfinishedError: ['conflict', 'run the same move again'],
  TargetNotEmptyError: ['conflict', 'name an empty database or folder; nothing was changed'],
  OtherEnvelopeKeyError: [
    'conflict',
    'restore the key from a copy, such as that of another node, or name its file with --envelope-key-file; if it is lost: bridge server rotate-key --lost makes a new one',
  ],
  CopyDiffersError: ['integrity', 'the node starts as before; run bridge server doctor'],
  RestoreUnfinishedError: ['conflict', 'bridge server start'],
  DatabaseInUseError: ['conflict', 'wait for the running backup, maintenance or doctor to end'],
  DestinationExistsError: [
    'conflict',
    'choose another file, or a folder, where the file is named by the time',
  ],
  PathMissingError: ['not_found'],
  NoSpaceError: ['unexpected', 'no leftover files; free some space or choose another destination'],
  BackupInterruptedError: [
    'unexpected',
    'stop the server and run it again, so that nothing is written meanwhile',
  ],
  DamagedDatabaseError: ['integrity', 'bridge server restore replaces it by a backup'],
}

const faultExit = (code: string | undefined): Way | undefined => {
  const exit = refusalExits[code as keyof typeof refusalExits]
  return exit === undefined ? undefined : [exit, faultHints[code ?? '']]
}

const faultHints: Readonly<Record<string, string>> = {
  setup_done: 'bridge server owner-link prints a link to sign in with',
  not_found: 'bridge server setup-link prints a link to set up the owner with',
}

const systemExits: Readonly<Record<string, Way>> = {
  EADDRINUSE: ['conflict', 'choose another port with --port or --metrics-port; 0 takes a free one'],
  EACCES: ['unexpected', 'may this user use the folder and the port?'],
  EROFS: ['unexpected', 'the data folder must be on a writable disk'],
  ENOSPC: ['unexpected', 'free some space; there are no leftover files'],
  '53100': ['unexpected', 'free some space on the server of the database'],
  SQLITE_FULL: ['unexpected', 'free some space; there are no leftover files'],
}
