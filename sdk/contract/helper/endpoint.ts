/**
 * Validation of a helper's address, at which other machines reach it.
 *
 * Not a schema, because the helper must not load the schema library (see manifest.ts). The node, the client
 * that serves and the client that fetches all call it.
 *
 * Contract §9 "Direct mode".
 */

/** Loopback, link-local and private addresses, in the normalised spelling of `URL.hostname`. */
const privateHost =
  /^(localhost|127(\.\d+){3}|10(\.\d+){3}|192\.168(\.\d+){2}|169\.254(\.\d+){2}|172\.(1[6-9]|2\d|3[01])(\.\d+){2}|\[::1\]|\[f[cd][0-9a-f]{2}:[0-9a-f:]*\]|\[fe[89ab][0-9a-f]:[0-9a-f:]*\])$/

/**
 * Returns the fault of an address, or undefined if it is valid.
 *
 * "An https origin without path, user info or query; plain http on loopback or LAN only."
 */
export function endpointFault(endpoint: string): string | undefined {
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined
  if (url === undefined || url.origin !== endpoint) return 'must be an origin, as https://host'
  if (url.protocol === 'https:') return undefined
  const isPrivate = url.protocol === 'http:' && privateHost.test(url.hostname)
  return isPrivate ? undefined : 'must be https; plain http is for loopback and private addresses only'
}
