/**
 * Where the server may be reached from, and what that asks for.
 *
 * - Plain HTTP stays on loopback. Beyond it the server speaks TLS itself, or hears listed proxies only.
 * - What owner requests must carry as Origin, and what prompts name to agents, is an address that clients can use: with
 *   TLS anywhere in front it is https, and where the address listened on tells nothing it has to be said.
 *
 * Contract §10 "plain HTTP only on loopback".
 */
import { isIP } from 'node:net'
import { ConfigError } from '../../config-error.ts'

export interface TlsFiles {
  readonly cert: string
  readonly key: string
}

export interface Exposure {
  readonly host: string
  /** Empty: the address itself, once the port is known. */
  readonly portalOrigin: string
  readonly tls: TlsFiles | undefined
  /** Addresses and subnets. */
  readonly trustedProxies: readonly string[]
}

/** @throws ConfigError for what would carry secrets in the clear, or cannot work. */
export function requireSafe(exposure: Exposure): Exposure {
  const { host, portalOrigin, tls, trustedProxies } = exposure
  if (!isLoopback(host) && tls === undefined && trustedProxies.length === 0) {
    throw new ConfigError(
      `host ${host} is beyond loopback, where plain HTTP would carry every message and sign-in in the clear; either give tls_cert and tls_key, or list the TLS proxies in front in trusted_proxy`,
    )
  }
  if (tls !== undefined && portalOrigin.startsWith('http:')) {
    throw new ConfigError(`portal_origin must be https, not "${portalOrigin}": the server speaks TLS`)
  }
  if (isLoopback(host)) return exposure
  if (tls === undefined && !portalOrigin.startsWith('https:')) {
    throw new ConfigError(
      'portal_origin must be the https origin at which the proxy in trusted_proxy serves, such as https://bridge.example',
    )
  }
  if (portalOrigin === '' && isWildcard(host)) {
    throw new ConfigError(
      `portal_origin must be given with host ${host}, which is no address of a client's: the https origin that the certificate names, such as https://bridge.example`,
    )
  }
  return exposure
}

/** @throws ConfigError unless it is an address, or the one name whose meaning is fixed. */
export function hostOf(text: string): string {
  if (text === 'localhost' || isIP(text) !== 0) return text
  throw new ConfigError(
    `host must be an IP address of this machine, 0.0.0.0, :: or localhost, not "${text}"; the name that clients use belongs into portal_origin`,
  )
}

/** @throws ConfigError unless both files are named, or none. */
export function tlsFilesOf(cert: string, key: string): TlsFiles | undefined {
  if (cert === '' && key === '') return undefined
  if (cert !== '' && key !== '') return { cert, key }
  const [given, missing] = cert === '' ? ['tls_key', 'tls_cert'] : ['tls_cert', 'tls_key']
  throw new ConfigError(`${given} needs ${missing} beside it: both files, in PEM`)
}

/** Addresses and subnets, between commas. @throws ConfigError */
export function trustedProxiesOf(text: string): readonly string[] {
  const entries = text.split(',').map((each) => each.trim())
  return entries.filter((each) => each !== '').map(proxyOf)
}

function proxyOf(entry: string): string {
  const [address = '', bits, ...rest] = entry.split('/')
  const longest = isIP(address) === 4 ? 32 : 128
  const isSubnet = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= longest)
  if (isIP(address) === 0 || !isSubnet || rest.length > 0 || address.includes('%')) {
    throw new ConfigError(
      `trusted_proxy must be addresses or subnets such as 127.0.0.1,10.0.0.0/8, not "${entry}"`,
    )
  }
  if (bits !== undefined && Number(bits) === 0) {
    throw new ConfigError(
      `trusted_proxy must not be everybody ("${entry}"): any client could then name its own address; list the proxies`,
    )
  }
  return entry
}

/** Without TLS the sign-in cookie cannot be Secure, so plain HTTP is for this machine alone. @throws ConfigError */
export function originOf(text: string): string {
  if (text === '') return ''
  const url = URL.canParse(text) ? new URL(text) : undefined
  const plainHere = url?.protocol === 'http:' && isLoopback(url.hostname.replace(/^\[|\]$/g, ''))
  if (url?.origin === text && (url.protocol === 'https:' || plainHere)) return text
  throw new ConfigError(
    `portal_origin must be an https origin such as https://bridge.example (http only on loopback), not "${text}"`,
  )
}

export const isLoopback = (host: string): boolean => /^(127\.\d+\.\d+\.\d+|::1|localhost)$/.test(host)

export const isWildcard = (host: string): boolean => /^(0\.0\.0\.0|[0:]*::?[0:]*)$/.test(host)

/** Where a program of this machine reaches it. */
export const localHost = (host: string): string =>
  host === '0.0.0.0' ? '127.0.0.1' : isWildcard(host) ? '::1' : host

/** As it stands in a URL; the usual port of a scheme is left out. */
export const urlOf = (scheme: 'http' | 'https', host: string, port: number): string =>
  new URL(`${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`).origin
