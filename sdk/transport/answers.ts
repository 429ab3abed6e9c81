/**
 * Classification of an HTTP response: an answer of the node, a refusal of the node, or no answer of the node.
 *
 * A proxy, a sign-in portal or another program on the port may respond in the node's place. Such a response
 * must never be taken for an answer or a refusal of the node.
 *
 * Contract §1.
 */
import type { ErrorBody } from '../contract/error-body.ts'
import { errors } from '../contract/errors.ts'
import { BridgeError, LocalError, type LocalErrorCode, type RequestName } from './failures.ts'
import type { FetchResponse } from './fetch.ts'

/**
 * Returns the body of an answer.
 *
 * @throws BridgeError for an error of the contract; LocalError for any other response.
 */
export async function readAnswer(
  name: RequestName,
  required: readonly string[],
  response: FetchResponse,
): Promise<unknown> {
  const { status } = response
  // Browsers hide a redirect behind status 0.
  if (status === 0 || (status >= 300 && status < 400)) {
    throw local('redirected', name, `${at(name)} answered with a redirect, which is not followed`)
  }
  const value = parseObject(await response.text())
  if (status >= 400 && isErrorBody(value)) {
    throw new BridgeError(name, status, value, retryAfterMs(response.headers.get('retry-after')))
  }
  // Readiness answers 503 "with the same body" (contract §11).
  const isAnswer = status === 200 || (status === 503 && required.length > 0)
  if (isAnswer && value !== undefined && required.every((field) => Object.hasOwn(value, field))) return value
  // A gateway whose upstream is unreachable answers with its own page.
  if (status === 502 || status === 503 || status === 504) {
    throw local('unreachable', name, `a proxy answered ${status} in place of ${at(name)}`)
  }
  throw local('bad_response', name, `${answered(name)} (status ${status}) does not speak the bridge protocol`)
}

const at = ({ at: address }: RequestName): string =>
  address === undefined ? 'the node' : `the node at ${address}`

const answered = ({ at: address }: RequestName): string =>
  address === undefined ? 'what answered' : `what answered at ${address}`

/** Returns the refusal from a frame or an event, which carries no HTTP status. */
export function refusalOf(name: RequestName, value: unknown): BridgeError | LocalError {
  const body = typeof value === 'object' && value !== null ? { ...value } : undefined
  if (!isErrorBody(body))
    return local('bad_response', name, 'what refused does not speak the bridge protocol')
  const entry = Object.hasOwn(errors, body.error) ? errors[body.error] : undefined
  // An unknown code of a newer node gets status 400. The next request shows its real status.
  return new BridgeError(name, entry?.status ?? 400, body)
}

/** Reason why this client ended an attempt; undefined if it did not. */
export type AbortCause = 'by-caller' | 'by-time' | undefined

/**
 * Returns the error for a failed attempt. Errors of {@link readAnswer} pass through. `whom` names the other
 * side in messages.
 */
export function failureOf(error: unknown, name: RequestName, abortCause: AbortCause, whom = at(name)): Error {
  if (error instanceof BridgeError || error instanceof LocalError) return error
  if (abortCause === 'by-caller') return local('aborted', name, 'aborted by the caller', error)
  if (abortCause === 'by-time') return local('timeout', name, `${whom} did not answer in time`, error)
  const reason = innermostCode(error)
  if (reason === undefined) return local('unreachable', name, 'the connection failed', error)
  if (blocked.has(reason)) {
    return local('sandbox_blocked', name, `this process may not open the connection (${reason})`, error)
  }
  if (reason === 'EPROTO' || notTls.test(reason)) {
    return local('bad_response', name, `${answered(name)} does not speak TLS (${reason})`, error)
  }
  if (/CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO_/.test(reason)) {
    const why = certificateFaults[reason] ?? 'is not trusted'
    return local('certificate_refused', name, `the certificate of ${whom} ${why} (${reason})`, error)
  }
  if (reason.startsWith('HPE_')) {
    return local('bad_response', name, `${answered(name)} does not speak HTTP`, error)
  }
  return local('unreachable', name, `no connection to ${whom} (${reason})`, error)
}

/** OpenSSL codes for an answer that does not begin with a TLS record. */
const notTls = /^ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST)$/

/** Reason for a refused certificate, by the code of OpenSSL or Node. */
const certificateFaults: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'has expired',
  CERT_NOT_YET_VALID: 'is not valid yet',
  CERT_REVOKED: 'was revoked',
  CERT_SIGNATURE_FAILURE: 'is not signed by the authority that it names',
  ERR_TLS_CERT_ALTNAME_INVALID: 'is for another name than that of the address',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'is self-signed, and this machine does not trust it',
  SELF_SIGNED_CERT_IN_CHAIN: 'was issued by an authority that this machine does not trust',
  UNABLE_TO_GET_ISSUER_CERT: 'was issued by an authority that this machine does not trust',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'was issued by an authority that this machine does not trust',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    'came without its intermediate certificate, or was issued by an authority that this machine does not trust',
}

/** Error codes of connect(2) in a sandbox. */
const blocked: ReadonlySet<string> = new Set(['EPERM', 'EACCES'])

const local = (code: LocalErrorCode, name: RequestName, words: string, cause?: unknown): LocalError =>
  new LocalError(code, `${name.method} ${name.path}: ${words}`, cause === undefined ? {} : { cause })

/**
 * Returns the code of the innermost cause. `fetch` wraps errors, and a host with several addresses gives one
 * error per address.
 */
export function innermostCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined
  const { code, name, cause, errors } = error as Record<'code' | 'name' | 'cause' | 'errors', unknown>
  const inner = innermostCode(cause ?? (Array.isArray(errors) ? errors[0] : undefined))
  if (inner !== undefined) return inner
  if (typeof code === 'string') return code
  // The parser error of undici has a name but no code.
  return name === 'HTTPParserError' ? 'HPE_UNNAMED' : undefined
}

/** Parses a JSON object. Returns undefined for any other text. */
export function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined
  } catch {
    // Text that is not JSON is treated like JSON of another shape.
    return undefined
  }
}

const isErrorBody = (
  value: Record<string, unknown> | undefined,
): value is ErrorBody & Record<string, unknown> =>
  typeof value?.error === 'string' &&
  typeof value.message === 'string' &&
  typeof value.request_id === 'string'

/** Milliseconds of a `Retry-After` header in seconds, the only form that the node sends. */
const retryAfterMs = (header: string | null): number | undefined =>
  header !== null && /^\d{1,6}$/.test(header) ? Number(header) * 1000 : undefined
