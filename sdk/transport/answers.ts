/**
 * What came back, read as one of three: an answer, a refusal of the service, or no answer of the service at all.
 *
 * Whatever stands between (a proxy, a portal page, another program on the port) speaks neither the contract's answers
 * nor its errors, and must never look like either.
 *
 * Contract §1.
 */
import type { ErrorBody } from '../contract/error-body.ts'
import { errors } from '../contract/errors.ts'
import { type Asked, BridgeError, LocalError, type LocalErrorCode } from './failures.ts'
import type { FetchResponse } from './fetch.ts'

/** The body of an answer. @throws BridgeError for an error of the contract; LocalError for anything else. */
export async function readAnswer(
  asked: Asked,
  required: readonly string[],
  response: FetchResponse,
): Promise<unknown> {
  const { status } = response
  if (status >= 300 && status < 400) {
    throw local('redirected', asked, `${at(asked)} answered with a redirect, which is not followed`)
  }
  const value = parseObject(await response.text())
  if (status >= 400 && isErrorBody(value)) {
    throw new BridgeError(asked, status, value, retryAfterMs(response.headers.get('retry-after')))
  }
  // Readiness answers 503 "with the same body" (contract §11).
  const isAnswer = status === 200 || (status === 503 && required.length > 0)
  if (isAnswer && value !== undefined && required.every((name) => Object.hasOwn(value, name))) return value
  // A gateway whose upstream is away says so with a page of its own.
  if (status === 502 || status === 503 || status === 504) {
    throw local('unreachable', asked, `a proxy answered ${status} in place of ${at(asked)}`)
  }
  throw local(
    'bad_response',
    asked,
    `${answered(asked)} (status ${status}) does not speak the bridge protocol`,
  )
}

const at = ({ at: address }: Asked): string => (address === undefined ? 'the node' : `the node at ${address}`)

const answered = ({ at: address }: Asked): string =>
  address === undefined ? 'what answered' : `what answered at ${address}`

/** The refusal that came in a frame or an event, without a status of its own. */
export function refusalOf(asked: Asked, value: unknown): BridgeError | LocalError {
  const body = typeof value === 'object' && value !== null ? { ...value } : undefined
  if (!isErrorBody(body))
    return local('bad_response', asked, 'what refused does not speak the bridge protocol')
  const entry = Object.hasOwn(errors, body.error) ? errors[body.error] : undefined
  // A code of a newer node; what it means is told by a request, which has a status.
  return new BridgeError(asked, entry?.status ?? 400, body)
}

/** Who ended an attempt, when it was not the network. */
export type Ended = 'by-caller' | 'by-time' | undefined

/** What a failed attempt means. What {@link readAnswer} threw passes through. `whom` is who was asked. */
export function failureOf(error: unknown, asked: Asked, ended: Ended, whom = at(asked)): Error {
  if (error instanceof BridgeError || error instanceof LocalError) return error
  if (ended === 'by-caller') return local('aborted', asked, 'given up by the caller', error)
  if (ended === 'by-time') return local('timeout', asked, `${whom} did not answer in time`, error)
  const reason = innermostCode(error)
  if (reason === undefined) return local('unreachable', asked, 'the connection failed', error)
  if (blocked.has(reason)) {
    return local('sandbox_blocked', asked, `this process may not open the connection (${reason})`, error)
  }
  if (reason === 'EPROTO' || notTls.test(reason)) {
    return local('bad_response', asked, `${answered(asked)} does not speak TLS (${reason})`, error)
  }
  if (/CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO_/.test(reason)) {
    const why = certificateFaults[reason] ?? 'is not trusted'
    return local('certificate_refused', asked, `the certificate of ${whom} ${why} (${reason})`, error)
  }
  if (reason.startsWith('HPE_')) {
    return local('bad_response', asked, `${answered(asked)} does not speak HTTP`, error)
  }
  return local('unreachable', asked, `no connection to ${whom} (${reason})`, error)
}

/** The first bytes of an answer were no TLS record. */
const notTls = /^ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST)$/

/** What of a certificate was refused, by the name that OpenSSL or Node gives it. */
const certificateFaults: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'has expired',
  CERT_NOT_YET_VALID: 'is not valid yet',
  CERT_REVOKED: 'was revoked',
  CERT_SIGNATURE_FAILURE: 'is not signed by the authority that it names',
  ERR_TLS_CERT_ALTNAME_INVALID: 'is for another name than that of the address',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'is signed by itself, and by no authority that this machine trusts',
  SELF_SIGNED_CERT_IN_CHAIN: 'is of an authority that this machine does not trust',
  UNABLE_TO_GET_ISSUER_CERT: 'is of an authority that this machine does not trust',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'is of an authority that this machine does not trust',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    'came without its intermediate, or is of an authority that this machine does not trust',
}

/** What a sandbox answers to connect(2). */
const blocked: ReadonlySet<string> = new Set(['EPERM', 'EACCES'])

const local = (code: LocalErrorCode, asked: Asked, words: string, cause?: unknown): LocalError =>
  new LocalError(code, `${asked.method} ${asked.path}: ${words}`, cause === undefined ? {} : { cause })

/** The code of the innermost cause: `fetch` wraps errors, and a host with several addresses collects one error for each. */
export function innermostCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined
  const { code, name, cause, errors } = error as Record<'code' | 'name' | 'cause' | 'errors', unknown>
  const inner = innermostCode(cause ?? (Array.isArray(errors) ? errors[0] : undefined))
  if (inner !== undefined) return inner
  if (typeof code === 'string') return code
  // undici gives its parser's error a name only.
  return name === 'HTTPParserError' ? 'HPE_UNNAMED' : undefined
}

/** The object that a JSON text holds; undefined for everything else. */
export function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined
  } catch {
    // Not JSON: the same answer as JSON of another shape.
    return undefined
  }
}

const isErrorBody = (
  value: Record<string, unknown> | undefined,
): value is ErrorBody & Record<string, unknown> =>
  typeof value?.error === 'string' &&
  typeof value.message === 'string' &&
  typeof value.request_id === 'string'

/** `Retry-After` in its seconds form, the only one the service sends. */
const retryAfterMs = (header: string | null): number | undefined =>
  header !== null && /^\d{1,6}$/.test(header) ? Number(header) * 1000 : undefined
