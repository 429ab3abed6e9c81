/**
 * Endpoint to which the parts of a file are sent and from which they are fetched: a helper, or the node's
 * package store.
 *
 * Both serve the same routes. They differ in their address and in the headers that prove the caller. Each
 * attempt gets fresh headers, which are sent to that address alone, because redirects are refused.
 *
 * Spec §4.5, §5 "Transfer helper"; contract §9.
 */
import type { ErrorBody } from '../../contract/error-body.ts'
import { parseBaseUrl } from '../../transport/address.ts'
import { BridgeError, HelperError, LocalError } from '../../transport/failures.ts'

/** Request that is about to be sent. */
export interface EndpointRequest {
  readonly method: 'GET' | 'PUT' | 'POST'
  /** Path and query as sent. */
  readonly target: string
  /** Hash of the body. For a part, this is its hash in the manifest. */
  readonly bodySha256: string
}

/** Where the parts of a file go to and come from: a node or a local helper. */
export interface FileEndpoint {
  /** Scheme, host and port. */
  readonly origin: string
  /** Certificate authority in PEM to trust besides those of the process. A helper has none. */
  readonly ca?: string | undefined
  /** Path prefix of `/status`, `/file`, `/parts/{index}` and `/finalize`. It is `/v1` at a helper. */
  readonly prefix: string
  /** Name of the endpoint in messages. By default the node. */
  readonly called?: string
  /** Number of parts that may be fetched at a time. One by default, as a helper allows. */
  readonly partsAtOnce?: number
  /** Returns the headers that prove the caller. Called for each attempt. */
  authorise(request: EndpointRequest): Record<string, string> | Promise<Record<string, string>>
  /**
   * Removes the cause of a refusal, if it can. Returns true if the same request may be sent again
   * immediately.
   */
  recover?(refusal: BridgeError): Promise<boolean>
}

/** The address and the token of a running helper. */
export interface HelperEndpoint {
  /** An https origin without path, user info or query. */
  readonly endpoint: string
  readonly token: string
  /**
   * Allows plain http to another machine, where anyone on the network path can read the file and the token.
   */
  readonly allowPlainHttp?: boolean | undefined
}

/** Returns the file endpoint of a helper. @throws LocalError `invalid_url`, `insecure_url` */
export function helperEndpoint({ endpoint, token, allowPlainHttp }: HelperEndpoint): FileEndpoint {
  const { origin, prefix } = parseBaseUrl(endpoint, { allowPlainHttp })
  if (prefix !== '') throw new LocalError('invalid_url', 'the endpoint of a helper has no path')
  // The token is in a closure, so that printing the endpoint does not print it.
  return {
    origin,
    prefix: '/v1',
    called: 'the helper',
    authorise: () => ({ authorization: `Bearer ${token}` }),
  }
}

/** Returns the error of a refusal, or undefined if the body is neither a node's nor a helper's. */
export function endpointRefusal(
  asked: { readonly method: string; readonly path: string },
  status: number,
  body: Readonly<Record<string, unknown>> | undefined,
): BridgeError | HelperError | undefined {
  const code = body?.error
  if (typeof code !== 'string' || !/^[a-z_]{1,64}$/.test(code)) return undefined
  const isServiceBody = typeof body?.message === 'string' && typeof body.request_id === 'string'
  if (isServiceBody) return new BridgeError(asked, status, body as unknown as ErrorBody)
  return new HelperError(asked, status, code)
}
