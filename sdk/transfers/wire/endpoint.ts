/**
 * Where the bytes of a transfer are handed over: the direct helper, or the package store of the service.
 *
 * Both speak the same routes; they differ in their address and in what proves the caller. The proof is asked
 * for at every attempt, and goes to that address only: a redirect is refused and never followed.
 *
 * Spec §4.5, §5 "Transfer helper"; contract §9.
 */
import type { ErrorBody } from '../../contract/error-body.ts'
import { parseBaseUrl } from '../../transport/address.ts'
import { BridgeError, HelperError, LocalError } from '../../transport/failures.ts'

/** Request that is about to be sent. */
export interface EndpointRequest {
  readonly method: 'GET' | 'PUT' | 'POST'
  /** As it travels. */
  readonly target: string
  /** Hash of the body. For a part, this is its hash in the manifest. */
  readonly bodySha256: string
}

/** Where the parts of a file go to and come from: a node or a local helper. */
export interface FileEndpoint {
  /** Scheme, host and port. */
  readonly origin: string
  /** Path prefix of `/status`, `/file`, `/parts/{index}` and `/finalize`. It is `/v1` at a helper. */
  readonly prefix: string
  /** Name of the endpoint in messages. By default the node. */
  readonly called?: string
  /** How many parts it hands out at a time; one when absent, as a helper does. */
  readonly partsAtOnce?: number
  /** The headers that prove the caller; asked again for each attempt. */
  authorise(request: EndpointRequest): Record<string, string> | Promise<Record<string, string>>
  /** Whether it mended what a refusal names, so that the same request may be tried again at once. */
  mend?(refusal: BridgeError): Promise<boolean>
}

/** The address and the token of a running helper. */
export interface HelperEndpoint {
  /** An https origin without path, user info or query. */
  readonly endpoint: string
  readonly token: string
  /** Plain http beyond this machine: the bytes and the token travel in the clear. */
  readonly allowPlainHttp?: boolean | undefined
}

/** The home behind a helper. @throws LocalError `invalid_url`, `insecure_url` */
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
