/**
 * All settings of the server. A flag overrides an environment variable, which overrides the key in
 * `config.json` in the data folder.
 *
 * This table is the only list: the command's flags, the reference page and the parser are derived from it.
 */
import { homedir, hostname } from 'node:os'
import { join, resolve } from 'node:path'
import { limits } from '../sdk/contract/limits.ts'
import { ConfigError } from './config-error.ts'
import { readConfigFile } from './config-file.ts'
import { databaseUrlOf } from './database-url.ts'
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

export interface Setting {
  /** Key in `config.json`; the flag is the same with hyphens. */
  readonly name: string
  readonly env: string
  readonly meaning: string
  readonly fallback: string
  /**
   * A `file` given as a flag or variable is relative to the working directory, one in `config.json` to the
   * data folder.
   */
  readonly kind: 'text' | 'integer' | 'file'
}

export const settings = [
  {
    name: 'host',
    env: 'BRIDGE_HOST',
    kind: 'text',
    fallback: '127.0.0.1',
    meaning: 'address to listen on, where anything but loopback requires TLS or trusted_proxy',
  },
  {
    name: 'port',
    env: 'BRIDGE_PORT',
    kind: 'integer',
    fallback: '8484',
    meaning: 'port to listen on, where 0 picks a free one',
  },
  {
    name: 'portal_origin',
    env: 'BRIDGE_PORTAL_ORIGIN',
    kind: 'text',
    fallback: '',
    meaning: 'origin that owner requests must carry and that prompts name, by default the listening address',
  },
  {
    name: 'tls_cert',
    env: 'BRIDGE_TLS_CERT',
    kind: 'file',
    fallback: '',
    meaning: 'file with the certificate and its intermediates, in PEM; the server then speaks TLS',
  },
  {
    name: 'tls_key',
    env: 'BRIDGE_TLS_KEY',
    kind: 'file',
    fallback: '',
    meaning: 'file with the private key of tls_cert, in PEM',
  },
  {
    name: 'tls_ca',
    env: 'BRIDGE_TLS_CA',
    kind: 'file',
    fallback: '',
    meaning:
      'file with the certificate authority of this node or its proxy, in PEM. Prompts hand it to agents. By default it is a self-signed certificate at the end of tls_cert',
  },
  {
    name: 'trusted_proxy',
    env: 'BRIDGE_TRUSTED_PROXY',
    kind: 'text',
    fallback: '',
    meaning: 'comma-separated addresses or subnets whose X-Forwarded-For header is trusted',
  },
  {
    name: 'database',
    env: 'BRIDGE_DATABASE_URL',
    kind: 'text',
    fallback: '',
    meaning:
      'PostgreSQL database as postgres://user@host/name, by default SQLite in the data folder. A password belongs in the variable, in database_url_file or in ~/.pgpass',
  },
  {
    name: 'database_url_file',
    env: 'BRIDGE_DATABASE_URL_FILE',
    kind: 'file',
    fallback: '',
    meaning: 'file with the URL of the PostgreSQL database, password included, instead of database',
  },
  {
    name: 'node_name',
    env: 'BRIDGE_NODE_NAME',
    kind: 'text',
    fallback: '',
    meaning:
      'name of this node among the nodes of its database, at most 64 characters; the host name if empty',
  },
  {
    name: 'packages',
    env: 'BRIDGE_PACKAGES',
    kind: 'text',
    fallback: 'folder',
    meaning:
      'store of packages, which is folder for the data folder, or a bucket of an S3-compatible store as s3://bucket/prefix. Its credentials belong in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or in ~/.aws/credentials',
  },
  {
    name: 'packages_endpoint',
    env: 'BRIDGE_PACKAGES_ENDPOINT',
    kind: 'text',
    fallback: '',
    meaning: 'origin of the object store, such as https://objects.example, by default that of Amazon',
  },
  {
    name: 'packages_region',
    env: 'BRIDGE_PACKAGES_REGION',
    kind: 'text',
    fallback: '',
    meaning: 'region of the bucket, by default AWS_REGION, else us-east-1',
  },
  {
    name: 'stage',
    env: 'BRIDGE_STAGE',
    kind: 'text',
    fallback: 'production',
    meaning: 'name of this deployment, shown by /api/health',
  },
  {
    name: 'log_level',
    env: 'BRIDGE_LOG_LEVEL',
    kind: 'text',
    fallback: 'info',
    meaning: 'fatal, error, warn, info, debug, trace or silent',
  },
  {
    name: 'envelope_key_file',
    env: 'BRIDGE_ENVELOPE_KEY_FILE',
    kind: 'file',
    fallback: '',
    meaning: 'file with the envelope key, 32 bytes in base64, by default envelope.key in the data folder',
  },
  {
    name: 'rate_per_second',
    env: 'BRIDGE_RATE_PER_SECOND',
    kind: 'integer',
    fallback: String(limits.ratePerSecond),
    meaning: 'requests per second and agent',
  },
  {
    name: 'rate_burst',
    env: 'BRIDGE_RATE_BURST',
    kind: 'integer',
    fallback: String(limits.rateBurst),
    meaning: 'requests that an agent may send in one burst',
  },
  {
    name: 'public_per_second',
    env: 'BRIDGE_PUBLIC_PER_SECOND',
    kind: 'integer',
    fallback: String(limits.publicPerSecond),
    meaning: 'requests per second and address to endpoints without credentials',
  },
  {
    name: 'public_burst',
    env: 'BRIDGE_PUBLIC_BURST',
    kind: 'integer',
    fallback: String(limits.publicBurst),
    meaning: 'requests that an address may send to these endpoints in one burst',
  },
  {
    name: 'failed_auth_per_minute',
    env: 'BRIDGE_FAILED_AUTH_PER_MINUTE',
    kind: 'integer',
    fallback: String(limits.failedAuthPerMinute),
    meaning: 'failed authentications per minute and address before the answer is 429',
  },
  {
    name: 'max_waits',
    env: 'BRIDGE_MAX_WAITS',
    kind: 'integer',
    fallback: String(limits.waitsPerNode),
    meaning: 'long-polls, streams and sockets that may wait on this node at the same time',
  },
  {
    name: 'package_bytes',
    env: 'BRIDGE_PACKAGE_BYTES',
    kind: 'integer',
    fallback: String(limits.packageBytes),
    meaning: 'maximum bytes of one package',
  },
  {
    name: 'packages_bytes',
    env: 'BRIDGE_PACKAGES_BYTES',
    kind: 'integer',
    fallback: String(limits.packagesBytes),
    meaning: 'maximum bytes of all packages on this node, open offers included',
  },
  {
    name: 'sender_packages_bytes',
    env: 'BRIDGE_SENDER_PACKAGES_BYTES',
    kind: 'integer',
    fallback: '',
    meaning:
      "maximum bytes of one sender's packages, open offers included, by default a quarter of packages_bytes, but at least package_bytes",
  },
  {
    name: 'package_spare_bytes',
    env: 'BRIDGE_PACKAGE_SPARE_BYTES',
    kind: 'integer',
    fallback: String(limits.packageSpareBytes),
    meaning: 'free bytes that uploads must leave on the disk of the packages',
  },
  {
    name: 'reserve_bytes',
    env: 'BRIDGE_RESERVE_BYTES',
    kind: 'integer',
    fallback: String(limits.reserveBytes),
    meaning: 'size of the reserve file, which the node deletes when the disk is full, or 0 for none',
  },
  {
    name: 'metrics_port',
    env: 'BRIDGE_METRICS_PORT',
    kind: 'integer',
    fallback: '',
    meaning:
      'port of the Prometheus metrics on metrics_host, where 0 picks a free one. By default there are no metrics',
  },
  {
    name: 'metrics_host',
    env: 'BRIDGE_METRICS_HOST',
    kind: 'text',
    fallback: '127.0.0.1',
    meaning: 'address of the metrics port, which must be loopback',
  },
] as const satisfies readonly Setting[]

export type SettingName = (typeof settings)[number]['name']

const names: ReadonlySet<string> = new Set(settings.map(({ name }) => name))

export interface Config extends Exposure {
  /** File with the certificate authority that prompts hand out. */
  readonly tlsCa: string | undefined
  readonly data: string
  /** PostgreSQL database. Undefined for SQLite in the data folder. */
  readonly databaseUrl: string | undefined
  /** File from which `databaseUrl` was read. It is read again for each new connection. */
  readonly databaseUrlFile: string | undefined
  /** Bucket of the packages. Undefined for the data folder. */
  readonly packagesPlace: ObjectPlace | undefined
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
  const open = flags.database ?? (env.BRIDGE_DATABASE_URL === undefined ? file.database : undefined)
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
    databaseUrl: databaseUrlOf(value('database'), value('database_url_file'), open),
    databaseUrlFile: value('database_url_file') || undefined,
    packagesPlace: objectPlaceOf(
      {
        packages: value('packages'),
        endpoint: value('packages_endpoint'),
        region: value('packages_region'),
      },
      env,
    ),
    tlsCa: value('tls_ca') || undefined,
    port: integer('port', value('port'), 0, 65_535),
    nodeName: nodeName(value('node_name')),
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
function nodeName(text: string): string {
  const name = text || hostname().slice(0, maxNodeName) || 'node'
  if (name.length <= maxNodeName && /^[\x21-\x7e]+$/.test(name)) return name
  throw new ConfigError(`node_name must be 1 to ${maxNodeName} printable ASCII characters without spaces`)
}

const maxNodeName = 64

function logLevel(text: string): string {
  const levels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']
  if (levels.includes(text)) return text
  throw new ConfigError(`log_level must be one of ${levels.join(', ')}, not "${text}"`)
}
