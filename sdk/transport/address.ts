/**
 * Address of a node, and URLs of its endpoints.
 *
 * - The base address may have a path prefix. The signed target always begins at `/api/` (contract §3, line 5).
 * - Plain http sends bodies unencrypted. For any host but this machine it needs an explicit option.
 */
import { LocalError } from './failures.ts'

export interface Address {
  /** Scheme, host and port. */
  readonly origin: string
  /** Path prefix without a trailing slash; empty if there is none. */
  readonly prefix: string
  /** Certificate authority in PEM to trust at this address, besides those of the process. */
  readonly ca?: string | undefined
}

/** Returns the address as a person types it. */
export const nameOf = ({ origin, prefix }: Address): string => `${origin}${prefix}`

/**
 * Parses the address of a node.
 *
 * @throws LocalError `invalid_url`; `insecure_url` for http beyond loopback without `allowPlainHttp`.
 */
export function parseBaseUrl(typed: string, options: { allowPlainHttp?: boolean | undefined } = {}): Address {
  // Pasted text may have spaces around it.
  const text = typed.trim()
  if (!/^[a-z]+:\/\//i.test(text)) {
    throw new LocalError('invalid_url', 'the address of the node must begin with http:// or https://')
  }
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new LocalError('invalid_url', 'the address of the node is not an http(s) URL')
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new LocalError('invalid_url', 'the address of the node may hold only scheme, host, port and path')
  }
  if (url.protocol === 'http:' && options.allowPlainHttp !== true && !isLoopback(url.hostname)) {
    throw new LocalError('insecure_url', `plain http to ${url.host} would send everything unencrypted`)
  }
  return { origin: url.origin, prefix: url.pathname.replace(/\/+$/, '') }
}

/** Returns true if a URL's hostname always means this machine. */
export const isLoopback = (hostname: string): boolean =>
  hostname === 'localhost' ||
  hostname.endsWith('.localhost') ||
  hostname === '[::1]' ||
  /^127\.\d+\.\d+\.\d+$/.test(hostname)

/** Returns an endpoint's path with parameters and query filled in. This target is sent and signed. */
export function targetOf(
  path: string,
  params: Readonly<Record<string, unknown>> = {},
  query: Readonly<Record<string, unknown>> = {},
): string {
  const filled = path.replace(/\{([a-z_]+)\}/g, (_whole, name: string) => segment(name, params[name]))
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query))
    if (value !== undefined) search.append(name, String(value))
  return search.size === 0 ? filled : `${filled}?${search}`
}

function segment(name: string, value: unknown): string {
  const text = encodeURIComponent(String(value ?? ''))
  // A URL parser would remove these segments, and the request would reach another endpoint.
  if (text === '' || text === '.' || text === '..')
    throw new TypeError(`${name} is not a usable path segment`)
  return text
}

/**
 * Returns the full URL of a target.
 *
 * @throws TypeError if a URL parser would change the target after it was signed.
 */
export function urlOf(address: Address, target: string): string {
  const url = new URL(`${address.origin}${address.prefix}${target}`)
  if (`${url.pathname}${url.search}` !== `${address.prefix}${target}`) {
    throw new TypeError('the target is not in the normalised form of a URL')
  }
  return url.href
}
