/**
 * Where a node is, and the address of one of its endpoints.
 *
 * - The base address may have a path prefix; what is signed begins at `/api/` all the same (contract §3, line 5).
 * - Plain http carries bodies in the clear: beyond this machine it needs an explicit option.
 */
import { LocalError } from './failures.ts'

export interface Address {
  /** Scheme, host and port. */
  readonly origin: string
  /** Without a trailing slash; empty when there is none. */
  readonly prefix: string
}

/** As a person types it. */
export const nameOf = ({ origin, prefix }: Address): string => `${origin}${prefix}`

/** @throws LocalError `invalid_url`, or `insecure_url` for http beyond loopback unless `allowPlainHttp`. */
export function parseBaseUrl(typed: string, options: { allowPlainHttp?: boolean | undefined } = {}): Address {
  // What is pasted may bring blanks along.
  const text = typed.trim()
  if (!/^[a-z]+:\/\//i.test(text)) {
    throw new LocalError('invalid_url', 'the address of the node has no http:// or https:// in front')
  }
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new LocalError('invalid_url', 'the address of the node is not an http(s) URL')
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new LocalError('invalid_url', 'the address of the node holds more than scheme, host, port and path')
  }
  if (url.protocol === 'http:' && options.allowPlainHttp !== true && !isLoopback(url.hostname)) {
    throw new LocalError('insecure_url', `plain http to ${url.host} would carry everything in the clear`)
  }
  return { origin: url.origin, prefix: url.pathname.replace(/\/+$/, '') }
}

/** Whether a URL's hostname can only mean this machine. */
export const isLoopback = (hostname: string): boolean =>
  hostname === 'localhost' ||
  hostname.endsWith('.localhost') ||
  hostname === '[::1]' ||
  /^127\.\d+\.\d+\.\d+$/.test(hostname)

/** Parameters and query put into an endpoint's path: what travels, what is signed. */
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
  // A URL parser would take these out and so ask another endpoint.
  if (text === '' || text === '.' || text === '..')
    throw new TypeError(`${name} is not a usable path segment`)
  return text
}

/** The whole URL of a target. @throws TypeError when a URL parser would change the target after it was signed. */
export function urlOf(address: Address, target: string): string {
  const url = new URL(`${address.origin}${address.prefix}${target}`)
  if (`${url.pathname}${url.search}` !== `${address.prefix}${target}`) {
    throw new TypeError('the target is not in the form in which it would travel')
  }
  return url.href
}
