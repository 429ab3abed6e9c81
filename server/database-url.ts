/** The settings that name a PostgreSQL database. */
import { accessSync, constants, readFileSync } from 'node:fs'
import { ConfigError } from './config-error.ts'

/** The setting of the database itself, or of the direct way to it. */
export type DatabaseSetting = 'database' | 'database_listen_url'

const fileOf = { database: 'database_url_file', database_listen_url: 'database_listen_url_file' } as const
const variableOf = {
  database: 'BRIDGE_DATABASE_URL',
  database_listen_url: 'BRIDGE_DATABASE_LISTEN_URL',
} as const

export interface GivenUrl {
  readonly url: string
  readonly file: string
  /** The URL if other users of the machine may read it, because it is a flag or in `config.json`. */
  readonly open: string | undefined
  /** Host that the driver takes if the URL names none. */
  readonly otherwise: string | undefined
}

/** Returns the URL, or undefined if none is given. @throws ConfigError */
export function databaseUrlOf(setting: DatabaseSetting, given: GivenUrl): string | undefined {
  const { url, file, open, otherwise } = given
  const fileSetting = fileOf[setting]
  if (url !== '' && file !== '') throw new ConfigError(`${setting} and ${fileSetting} exclude each other`)
  if (open !== undefined && open !== '' && hasPassword(parsed(open, setting))) {
    throw new ConfigError(
      `${setting} must not contain a password: put the URL in ${variableOf[setting]} or in a file that ${fileSetting} names, or the password in ~/.pgpass`,
    )
  }
  const text = file === '' ? url : readUrl(file)
  if (text === '') return undefined
  return checked(text, file === '' ? setting : fileSetting, otherwise)
}

/**
 * Returns a function that reads the file again, for passwords that are changed while the server runs. While
 * the file is missing or unusable, the URL is that of the start.
 */
export const latestUrlOf = (file: string, url: string, otherwise: string | undefined) => (): string => {
  try {
    return databaseUrlOf('database', { url: '', file, open: undefined, otherwise }) ?? url
  } catch {
    return url
  }
}

/** The driver also takes a password from a parameter. */
const hasPassword = ({ password, searchParams }: URL): boolean =>
  password !== '' || searchParams.getAll('password').some((each) => each !== '')

/** The driver takes the last of repeated parameters, and an empty one for none. */
const parameterOf = ({ searchParams }: URL, name: string): string | undefined =>
  searchParams.getAll(name).at(-1) || undefined

/** The host that the driver connects to: the parameter `host` overrides the usual place. */
const hostOf = (url: URL, otherwise = ''): string => parameterOf(url, 'host') ?? (url.hostname || otherwise)

/** Returns whether a connection to this host, or to the socket at this path, leaves no machine. */
const isLocal = (host: string): boolean =>
  host === '' || /^(localhost|\[?::1\]?|127(\.\d+){1,3})$|^(\/|%2f)/i.test(host)

const weak = new Set(['allow', 'prefer', 'require', 'no-verify'])

/**
 * A connection to another machine is encrypted and its certificate verified, unless the URL says otherwise.
 */
function checked(text: string, name: string, otherwise: string | undefined): string {
  const url = parsed(text, name)
  const mode = parameterOf(url, 'sslmode')
  if (mode !== undefined && weak.has(mode)) {
    throw new ConfigError(
      `${name}: sslmode=${mode} does not verify the database; use verify-full, or disable in a network that only you can read`,
    )
  }
  const authority = parameterOf(url, 'sslrootcert')
  if (authority !== undefined) requireReadable(authority, name)
  if (mode !== undefined || isLocal(hostOf(url, otherwise))) return text
  url.searchParams.set('sslmode', 'verify-full')
  return url.href
}

function parsed(text: string, name: string): URL {
  if (/^postgres(ql)?:\/\//.test(text) && URL.canParse(text)) return new URL(text)
  throw new ConfigError(`${name} must be a URL such as postgres://user@host/name`)
}

function requireReadable(path: string, name: string): void {
  try {
    accessSync(path, constants.R_OK)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new ConfigError(`${name}: cannot read sslrootcert ${path} (${code})`, { cause })
  }
}

function readUrl(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (error) {
    throw new ConfigError(
      `cannot read the database URL in ${path} (${(error as NodeJS.ErrnoException).code})`,
      {
        cause: error,
      },
    )
  }
}
