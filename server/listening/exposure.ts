/**
 * Rules for the address that the server listens on.
 *
 * - Plain HTTP is limited to loopback. On other addresses the server speaks TLS itself or accepts trusted
 *   proxies only.
 * - The portal origin, which owner requests carry and prompts name, must be an address that clients can use.
 *   With TLS in the server or a proxy it must be https. If the listening address does not determine it, it
 *   must be configured.
 *
 * Contract §10 "plain HTTP only on loopback".
 */
import { isIP } from 'node:net'
import { ConfigError } from '../config-error.ts'

export interface TlsFiles {
  readonly cert: string
  readonly key: string
}

export interface Exposure {
  readonly host: string
  /** Empty means the listening address, which is known once the port is. */
  readonly portalOrigin: string
  readonly tls: TlsFiles | undefined
  /** Addresses and subnets. */
  readonly trustedProxies: readonly string[]
}

/** @throws ConfigError for settings that would send secrets unencrypted, or that cannot work */
export function requireSafe(exposure: Exposure): Exposure {
  const { host, portalOrigin, tls, trustedProxies } = exposure
  if (!isLoopback(host) && tls === undefined && trustedProxies.length === 0) {
    throw new ConfigError(
      `host ${host} is not a loopback address, and plain HTTP would send messages and sign-ins unencrypted; set tls_cert and tls_key, or list your TLS proxies in trusted_proxy`,
    )
  }
  if (tls !== undefined && portalOrigin.startsWith('http:')) {
    throw new ConfigError(`portal_origin must be https, not "${portalOrigin}": the server speaks TLS`)
  }
  if (isLoopback(host)) return exposure
  if (tls === undefined && !portalOrigin.startsWith('https:')) {
    throw new ConfigError(
      'portal_origin must be the https origin of the proxy in trusted_proxy, such as https://bridge.example',
    )
  }
  if (portalOrigin === '' && isWildcard(host)) {
    throw new ConfigError(
      `portal_origin is required with host ${host}, which clients cannot connect to; set it to the https origin that the certificate names, such as https://bridge.example`,
    )
  }
  return exposure
}

/** @throws ConfigError unless it is an IP address or `localhost` */
export function hostOf(text: string): string {
  if (text === 'localhost' || isIP(text) !== 0) return text
  throw new ConfigError(
    `host must be an IP address of this machine, 0.0.0.0, :: or localhost, not "${text}"; put the name that clients use into portal_origin`,
  )
}

/** @throws ConfigError if only one of the two is set */
export function tlsFilesOf(cert: string, key: string): TlsFiles | undefined {
  if (cert === '' && key === '') return undefined
  if (cert !== '' && key !== '') return { cert, key }
  const [given, missing] = cert === '' ? ['tls_key', 'tls_cert'] : ['tls_cert', 'tls_key']
  throw new ConfigError(`${given} requires ${missing}: set both, as files in PEM`)
}

/** Parses comma-separated addresses and subnets. @throws ConfigError */
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
      `trusted_proxy must not include all addresses ("${entry}"), because any client could then forge its address; list your proxies`,
    )
  }
  return entry
}

/**
 * Plain HTTP is accepted on loopback only, because without TLS the sign-in cookie cannot be Secure. @throws
 * ConfigError
 */
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

/** The address by which programs on this machine reach the server. */
export const localHost = (host: string): string =>
  host === '0.0.0.0' ? '127.0.0.1' : isWildcard(host) ? '::1' : host

/** Origin in URL form. The default port of the scheme is omitted. */
export const urlOf = (scheme: 'http' | 'https', host: string, port: number): string =>
  new URL(`${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`).origin
