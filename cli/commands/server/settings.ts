/**
 * The server's settings as flags, made from the server's own table, and its errors as exit codes.
 *
 * The server is loaded only when one of its commands is used: no other command pays for it.
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

/** One flag for each setting; called before the command parses its arguments, since the table is loaded only then. */
export async function addSettings(to: Command): Promise<void> {
  const { settings } = await server()
  for (const { name, env, meaning, fallback } of settings) {
    const usual = fallback === '' ? '' : `; ${fallback} when absent`
    to.option(`${flagOf(name)} <value>`, `${meaning}${usual} (${env})`)
  }
}

const optionName = (setting: string): string =>
  setting.replace(/_([a-z])/g, (_whole, letter: string) => letter.toUpperCase())

/** The settings that were given as flags, by their names in the table. */
export function givenSettings(
  { settings }: Server,
  options: SettingOptions,
): Partial<Record<SettingName, string>> {
  const pairs = settings.map(({ name }) => [name, options[optionName(name)]] as const)
  return Object.fromEntries(pairs.filter(([, value]) => value !== undefined))
}

/** Flags, environment and file as one configuration. */
export function configOf(loaded: Server, { environment }: CliContext, options: SettingOptions) {
  const data = options.data === undefined ? {} : { data: options.data }
  return loaded.readConfig({ ...data, ...givenSettings(loaded, options) }, environment)
}

/** Run host work; what the server throws by name becomes an exit code. */
export async function onHost<T>(act: (loaded: Server) => Promise<T>): Promise<T> {
  const loaded = await server()
  try {
    return await act(loaded)
  } catch (cause) {
    throw hostFailure(cause instanceof Error && cause.name === 'ConfigError' ? asFlags(loaded, cause) : cause)
  }
}

/** Settings by their flags; in `config.json`, whose faults begin with its path, they have their own names. */
function asFlags({ settings }: Server, cause: Error): Error {
  if (cause.message.startsWith('/')) return cause
  const names = settings.map(({ name }) => name).filter((name) => name.includes('_'))
  const message = cause.message.replace(new RegExp(`\\b(${names.join('|')})\\b`, 'g'), (name) => flagOf(name))
  return Object.assign(new Error(message, { cause }), { name: cause.name })
}

const flagOf = (setting: string): string => `--${setting.replaceAll('_', '-')}`

/** The server lives in a bundle of its own, so its errors are told by name. */
function hostFailure(cause: unknown): unknown {
  if (!(cause instanceof Error)) return cause
  const { name, code = '' } = cause as Error & { code?: string }
  if (/^SQLITE_(?:CORRUPT|NOTADB)/.test(code)) return damaged(cause)
  const [exit, hint] = named[name] ?? (name === 'ApiError' ? faultExit(code) : systemExits[code]) ?? []
  return exit === undefined ? cause : new CommandError(exit, spoken(cause.message), { hint, cause })
}

/** What SQLite finds when it reads; nothing is served from it. */
const damaged = (cause: Error): CommandError =>
  new CommandError('integrity', `the database is damaged: ${cause.message}`, {
    hint: 'bridge server doctor looks at every page; bridge server restore BACKUP --replace puts a backup in its place',
    cause,
  })

type Way = readonly [exit: ExitName, hint?: string | undefined]

const named: Readonly<Record<string, Way>> = {
  ConfigError: ['usage', 'bridge server start --help lists the settings'],
  NotInitialisedError: ['not_found', 'bridge server init makes an installation'],
  AlreadyInitialisedError: [
    'conflict',
    'bridge server start runs it; --data names another folder; bridge server restore --replace keeps it aside',
  ],
  DataFolderLockedError: ['conflict', 'bridge server status asks the one that runs'],
  NewerDatabaseError: ['conflict', 'a newer bridge has run here; it never runs backwards'],
  MigrationHistoryError: ['conflict', 'is this the data folder of another program, or of a changed build?'],
  UnsafeStoreError: ['unexpected'],
  RestoreUnfinishedError: ['conflict', 'bridge server start'],
  DatabaseInUseError: ['conflict', 'end it first: a backup, a maintenance run, a doctor'],
  DestinationExistsError: ['conflict', 'name another file, or a folder: the name is then made from the time'],
  PathMissingError: ['not_found'],
  NoSpaceError: ['unexpected', 'nothing was left behind; make room or name another place'],
  BackupInterruptedError: ['unexpected', 'with the server stopped nothing is written'],
  DamagedDatabaseError: ['integrity', 'bridge server restore puts a backup in its place'],
}

const faultExit = (code: string | undefined): Way | undefined => {
  const exit = refusalExits[code as keyof typeof refusalExits]
  return exit === undefined ? undefined : [exit, faultHints[code ?? '']]
}

const faultHints: Readonly<Record<string, string>> = {
  setup_done: 'bridge server owner-link makes a link to sign in with',
  not_found: 'bridge server setup-link makes a link to set up the owner with',
}

const systemExits: Readonly<Record<string, Way>> = {
  EADDRINUSE: ['conflict', '--port, or --metrics-port, names another port; 0 takes a free one'],
  EACCES: ['unexpected', 'may this user use the folder and the port?'],
  EROFS: ['unexpected', 'the data folder must lie on a disk that can be written'],
  ENOSPC: ['unexpected', 'make room; nothing was left behind'],
  SQLITE_FULL: ['unexpected', 'make room; nothing was left behind'],
}
