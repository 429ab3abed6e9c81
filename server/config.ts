/**
 * Reads the settings of the server. A flag overrides an environment variable, which overrides the key in
 * `config.json` in the data folder.
 */
import { hash } from 'node:crypto'
import { homedir, hostname } from 'node:os'
import { join, resolve } from 'node:path'
import { limits } from '../sdk/contract/limits.ts'
import { ConfigError } from './config-error.ts'
import { readConfigFile } from './config-file.ts'
import { type DatabaseSetting, databaseUrlOf } from './database-url.ts'
import {
  type Exposure,
  hostOf,
  isLoopback,
  originOf,
  requireSafe,
  tlsFilesOf,
  trustedProxiesOf,
} from './listening/exposure.ts'
import type { MetricsAddress } from './metrics/listener.ts'
import { type ObjectPlace, objectPlaceOf } from './packages-place.ts'
import { type SettingName, settings } from './settings.ts'

const names: ReadonlySet<string> = new Set(settings.map(({ name }) => name))

export interface Config extends Exposure {
  /** File with the certificate authority that prompts hand out. */
  readonly tlsCa: string | undefined
  readonly data: string
  /** PostgreSQL database. Undefined for SQLite in the data folder. */
  readonly databaseUrl: string | undefined
  /** File from which `databaseUrl` was read. It is read again for each new connection. */
  readonly databaseUrlFile: string | undefined
  /** Host of a database whose URL names none. The driver reads it too. */
  readonly databaseHost: string | undefined
  /** Direct way to the same database, by which the node hears other nodes. By default `databaseUrl`. */
  readonly databaseListen: DatabaseListen | undefined
  /** Bucket of the packages. Undefined for the data folder. */
  readonly packagesPlace: ObjectPlace | undefined
  /** Whether equal statements of several requests are sent to PostgreSQL as one. */
  readonly mergeStatements: boolean
  readonly port: number
  /** Name of this node among the nodes of its database. */
  readonly nodeName: string
  readonly stage: string
  readonly logLevel: string
  readonly envelopeKeyFile: string
  readonly ratePerSecond: number
  readonly rateBurst: number
  readonly publicPerSecond: number
  readonly publicBurst: number
  readonly failedAuthPerMinute: number
  readonly maxWaits: number
  readonly packageBytes: number
  readonly packagesBytes: number
  readonly senderPackagesBytes: number
  readonly packageSpareBytes: number
  readonly reserveBytes: number
  /** Undefined if metrics are off. */
  readonly metrics: MetricsAddress | undefined
}

export interface DatabaseListen {
  readonly url: string
  /** File from which `url` was read. */
  readonly file: string | undefined
}

type Environment = Readonly<Record<string, string | undefined>>

export function defaultDataFolder(env: Environment = process.env): string {
  return resolve(env.BRIDGE_DATA ?? join(homedir(), '.local', 'share', 'agent-bridge'))
}

/**
 * Default share of one sender: a quarter of the package quota, so one sender leaves room for three others.
 */
const sendersAtLeast = 4

/**
 * Reads the configuration. Flags override the environment, which overrides the file, which overrides the
 * defaults. `defaults` replaces some defaults of the table. @throws ConfigError
 */
export function readConfig(
  flags: Partial<Record<SettingName | 'data', string>>,
  env: Environment = process.env,
  defaults: Partial<Record<SettingName, string>> = {},
): Config {
  const data = resolve(flags.data ?? defaultDataFolder(env))
  const file = readConfigFile(join(data, 'config.json'), names)
  const value = (name: SettingName): string => {
    const setting = settings.find((each) => each.name === name)
    const here = flags[name] ?? env[setting?.env ?? '']
    const found = here ?? file[name] ?? defaults[name] ?? setting?.fallback ?? ''
    if (setting?.kind !== 'file' || found === '') return found
    return here === undefined ? resolve(data, found) : resolve(found)
  }
  const given = (name: DatabaseSetting, urlFile: SettingName, variable: string) => {
    const open = flags[name] ?? (env[variable] === undefined ? file[name] : undefined)
    return databaseUrlOf(name, { url: value(name), file: value(urlFile), open, otherwise: env.PGHOST })
  }
  const listenUrl = given('database_listen_url', 'database_listen_url_file', 'BRIDGE_DATABASE_LISTEN_URL')
  const packageBytes = integer('package_bytes', value('package_bytes'), 0, limits.sequenceMax)
  const packagesBytes = integer('packages_bytes', value('packages_bytes'), 0, limits.sequenceMax)
  const share = String(Math.max(packageBytes, Math.floor(packagesBytes / sendersAtLeast)))
  const senderBytes = value('sender_packages_bytes') || share
  return Object.freeze({
    data,
    ...requireSafe({
      host: hostOf(value('host')),
      portalOrigin: originOf(value('portal_origin')),
      tls: tlsFilesOf(value('tls_cert'), value('tls_key')),
      trustedProxies: trustedProxiesOf(value('trusted_proxy')),
    }),
    databaseUrl: given('database', 'database_url_file', 'BRIDGE_DATABASE_URL'),
    databaseUrlFile: value('database_url_file') || undefined,
    databaseHost: env.PGHOST,
    databaseListen:
      listenUrl === undefined
        ? undefined
        : { url: listenUrl, file: value('database_listen_url_file') || undefined },
    packagesPlace: objectPlaceOf(
      {
        packages: value('packages'),
        endpoint: value('packages_endpoint'),
        region: value('packages_region'),
      },
      env,
    ),
    mergeStatements: isOn('merge_statements', value('merge_statements')),
    tlsCa: value('tls_ca') || undefined,
    port: integer('port', value('port'), 0, 65_535),
    nodeName: nodeName(value('node_name'), data),
    stage: value('stage'),
    logLevel: logLevel(value('log_level')),
    envelopeKeyFile: value('envelope_key_file') || join(data, 'envelope.key'),
    ratePerSecond: integer('rate_per_second', value('rate_per_second'), 1, 1_000_000),
    rateBurst: integer('rate_burst', value('rate_burst'), 1, 1_000_000),
    publicPerSecond: integer('public_per_second', value('public_per_second'), 1, 1_000_000),
    publicBurst: integer('public_burst', value('public_burst'), 1, 1_000_000),
    failedAuthPerMinute: integer('failed_auth_per_minute', value('failed_auth_per_minute'), 1, 1_000_000),
    maxWaits: integer('max_waits', value('max_waits'), 1, 1_000_000),
    packageBytes,
    packagesBytes,
    senderPackagesBytes: integer('sender_packages_bytes', senderBytes, 0, limits.sequenceMax),
    packageSpareBytes: integer('package_spare_bytes', value('package_spare_bytes'), 0, limits.sequenceMax),
    reserveBytes: integer('reserve_bytes', value('reserve_bytes'), 0, limits.sequenceMax),
    metrics: metricsOf(value('metrics_host'), value('metrics_port')),
  })
}

/** Accepts only a loopback address, because metrics require no credential. @throws ConfigError */
function metricsOf(host: string, port: string): MetricsAddress | undefined {
  if (!isLoopback(host)) {
    throw new ConfigError(
      `metrics_host must be a loopback address such as 127.0.0.1 or ::1, not "${host}": metrics require no credential; scrape them on this host, or through a proxy that authenticates`,
    )
  }
  return port === '' ? undefined : { host, port: integer('metrics_port', port, 0, 65_535) }
}

function integer(name: string, text: string, min: number, max: number): number {
  const number = Number(text)
  if (/^[0-9]+$/.test(text) && number >= min && number <= max) return number
  throw new ConfigError(`${name} must be a whole number from ${min} to ${max}, not "${text}"`)
}

/** @throws ConfigError */
function nodeName(text: string, data: string): string {
  const name = text || usualName(data)
  if (name.length <= maxNodeName && /^[\x21-\x7e]+$/.test(name)) return name
  throw new ConfigError(`node_name must be 1 to ${maxNodeName} printable ASCII characters without spaces`)
}

const maxNodeName = 64

/** The host name, and six characters of the data folder, which is another one for each node of a host. */
function usualName(data: string): string {
  const suffix = `-${hash('sha256', data).slice(0, 6)}`
  const host = hostname().replaceAll(/[^\x21-\x7e]/g, '') || 'node'
  return host.slice(0, maxNodeName - suffix.length) + suffix
}

function logLevel(text: string): string {
  const levels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']
  if (levels.includes(text)) return text
  throw new ConfigError(`log_level must be one of ${levels.join(', ')}, not "${text}"`)
}

function isOn(name: SettingName, text: string): boolean {
  if (text === 'on' || text === 'off') return text === 'on'
  throw new ConfigError(`${name} must be on or off, not "${text}"`)
}
