/** The settings that name the store of packages. */
import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { ConfigError } from './config-error.ts'

export interface ObjectCredentials {
  readonly keyId: string
  readonly secret: string
  /** Token of temporary credentials. */
  readonly session: string | undefined
}

/** A bucket of an S3-compatible object store, and the prefix of the keys of this installation. */
export interface ObjectPlace {
  /** `s3://bucket/prefix`, for people. */
  readonly name: string
  /** URL of the bucket, with a slash at the end. Keys follow it. */
  readonly base: string
  /** Empty, or with a slash at the end. */
  readonly prefix: string
  readonly region: string
  /** The settings that name the place. */
  readonly settings: PlaceSettings
  /** Reads the credentials, which may have changed. @throws ConfigError */
  readonly credentials: () => ObjectCredentials
}

type Environment = Readonly<Record<string, string | undefined>>

export interface PlaceSettings {
  /** `folder`, or `s3://bucket/prefix`. */
  readonly packages: string
  /** Origin of the store, if it is not that of Amazon. */
  readonly endpoint: string
  readonly region: string
}

const usualRegion = 'us-east-1'

/** Returns the bucket that the settings name, or undefined for the data folder. @throws ConfigError */
export function objectPlaceOf(settings: PlaceSettings, env: Environment): ObjectPlace | undefined {
  const { packages, endpoint, region: given } = settings
  if (packages === 'folder') return undefined
  const [, bucket = '', path = ''] = /^s3:\/\/([^/?#@]*)\/?([^?#]*)$/.exec(packages) ?? []
  if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(bucket) || !isPath(path))
    throw new ConfigError(
      `packages must be folder, or a bucket and a prefix such as s3://bucket/prefix, not "${shown(packages)}"`,
    )
  const region = given || env.AWS_REGION || env.AWS_DEFAULT_REGION || usualRegion
  const prefix = path === '' ? '' : `${path.replace(/\/$/, '')}/`
  return {
    name: `s3://${bucket}/${prefix}`.replace(/\/$/, ''),
    base: baseOf(bucket, region, endpoint),
    prefix,
    region,
    settings: { packages, endpoint, region },
    credentials: () => credentialsOf(env),
  }
}

/** A given value without what may be a key and its secret. */
const shown = (given: string): string => given.replace(/^([^/@]*\/\/)?.*@/s, '$1…@')

const isPath = (path: string): boolean =>
  path === '' || /^(?!\.{1,2}\/)[A-Za-z0-9._-]+(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._-]+)*\/?$/.test(path)

/** Settings that bound packages. */
export interface PackageRoom {
  readonly packageBytes: number
  readonly packagesBytes: number
  readonly senderPackagesBytes: number
}

/** Whether the settings leave room for packages. */
export const takesPackages = ({ packageBytes, packagesBytes, senderPackagesBytes }: PackageRoom): boolean =>
  Math.min(packageBytes, packagesBytes, senderPackagesBytes) > 0

/** Names the store of packages to the other nodes: `folder`, `s3://bucket/prefix`, or `none`. */
export const packageStoreOf = (room: PackageRoom & { packagesPlace: ObjectPlace | undefined }): string =>
  room.packagesPlace?.name ?? (takesPackages(room) ? 'folder' : 'none')

/** A named endpoint gets the bucket in the path, and Amazon in the host, unless its name has a dot. */
function baseOf(bucket: string, region: string, endpoint: string): string {
  if (endpoint === '')
    return bucket.includes('.')
      ? `https://s3.${region}.amazonaws.com/${bucket}/`
      : `https://${bucket}.s3.${region}.amazonaws.com/`
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol) || `${url.origin}/` !== url.href)
    throw new ConfigError(
      `packages_endpoint must be an origin such as https://objects.example, not "${shown(endpoint)}"`,
    )
  return `${url.origin}/${bucket}/`
}

/** Reads the usual variables, else the usual file of credentials. @throws ConfigError */
function credentialsOf(env: Environment): ObjectCredentials {
  const { AWS_ACCESS_KEY_ID: keyId, AWS_SECRET_ACCESS_KEY: secret, AWS_SESSION_TOKEN: session } = env
  if (keyId && secret) return { keyId, secret, session: session || undefined }
  const path = env.AWS_SHARED_CREDENTIALS_FILE || join(env.HOME || homedir(), '.aws', 'credentials')
  const profile = env.AWS_PROFILE || 'default'
  const found = profileIn(read(path), profile)
  const [fileKey, fileSecret] = [found.aws_access_key_id, found.aws_secret_access_key]
  if (fileKey && fileSecret)
    return { keyId: fileKey, secret: fileSecret, session: found.aws_session_token || undefined }
  throw new ConfigError(`packages: the profile ${profile} in ${path} lacks a key or its secret`)
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new ConfigError(
      `packages: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; there is no file of credentials either: cannot read ${path} (${code})`,
      { cause },
    )
  }
}

/** The keys of one section of a file in the form of `~/.aws/credentials`. */
function profileIn(text: string, profile: string): Partial<Record<string, string>> {
  const found: Record<string, string> = {}
  let section = ''
  for (const line of text.split('\n')) {
    const name = /^\s*\[\s*([^\]]*?)\s*\]/.exec(line)?.[1]
    if (name !== undefined) section = name
    const [, key, value] = /^\s*([a-z_]+)\s*=\s*(.*?)\s*$/.exec(line) ?? []
    if (section === profile && key !== undefined && value !== undefined) found[key] = value
  }
  return found
}
