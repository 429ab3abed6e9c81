/**
 * Three error classes of the client, and what each says about the outcome of a request.
 *
 * - `BridgeError`: the node refused. The code is one of `errors`.
 * - `HelperError`: a helper refused. The code is one of `helperErrors`.
 * - `LocalError`: the request did not reach the node, or no usable answer came back. Its codes are
 *   `localErrors`.
 *
 * Messages name method and path, and the address if no usable answer came from it. They never contain a
 * header, a body or a query.
 *
 * Contract §2, §13.
 */
import type { ErrorBody } from '../contract/error-body.ts'
import { type ErrorCode, errors, type Retry } from '../contract/errors.ts'
import { type HelperErrorCode, helperErrors } from '../contract/helper/errors.ts'

/** Code of a refusal. It is `unrecognized` for a code that only a newer node knows. */
export type RefusalCode = ErrorCode | 'unrecognized'

/** Meaning of each code of {@link LocalError}. */
export const localErrors = {
  unreachable: 'No connection to the node, or a proxy answered in its place.',
  timeout: 'The node did not answer in time; whether the request took effect is unknown.',
  aborted: 'The caller aborted the operation.',
  bad_response: 'The address answers, but not as a bridge node, or its answer does not follow the contract.',
  redirected: 'The address answers with a redirect, which is never followed.',
  certificate_refused: "The node's TLS certificate is not trusted.",
  sandbox_blocked: 'This process may not open network connections.',
  invalid_url: 'The address is not a usable http(s) URL.',
  insecure_url: 'Plain http beyond this machine was not allowed explicitly.',
  identity_missing: 'No identity is stored here; enrol first.',
  identity_unreadable: 'The stored identity or its key is damaged or not protected.',
  storage_failed: 'A local file could not be read or written.',
  entry_of_another:
    'The outbox entry belongs to another agent or another node. Only that identity may send it.',
  peer_unknown: 'No peer has this name or id.',
  name_unknown: 'No project, agent, environment or administrator has this name.',
  name_ambiguous: 'The name is not unique. Use an id instead.',
  not_asked: 'The message was sent by another identity, so this one gets no answer to it.',
  no_answer: 'No answer arrived in time. The question is stored, and the wait can be resumed.',
  task_unfinished: 'The task did not end in time. It continues, and the wait can be resumed.',
  capability_off:
    'The node does not accept such transfers now, according to the capabilities of its bootstrap.',
  not_sendable: 'The file cannot be sent: its path, name or size is not usable.',
  integrity: 'The bytes differ from the manifest.',
  destination_exists: 'Another file has this name. It is not overwritten.',
  transfer_in_use: 'Another process is receiving this transfer into the folder.',
  key_missing: 'The required age key is missing, or the data was encrypted for another key.',
  transfer_expired: 'The transfer or its endpoint has expired.',
} as const
/** A code of {@link LocalError}. */
export type LocalErrorCode = keyof typeof localErrors

/** Request that an error names, without its query. */
export interface RequestName {
  readonly method: string
  readonly path: string
  /** Address of the node, if the failure may be caused by the address. */
  readonly at?: string | undefined
}

/** Refusal of the node. See {@link LocalError} for failures without an answer of the node. */
export class BridgeError extends Error {
  override readonly name = 'BridgeError'
  /** One of {@link errors}; `unrecognized` for one that only a newer node knows. */
  readonly code: RefusalCode
  /** The node's message for people. `message` starts with the request and the code, and then repeats it. */
  readonly reason: string
  /** Status of the HTTP answer. */
  readonly status: number
  /** Whether and how the same request may be tried again. */
  readonly retry: Retry
  /** Finds the request in the node's log and audit. */
  readonly requestId: string
  /** Milliseconds to wait before the next attempt, if the node named them. */
  readonly retryAfterMs: number | undefined
  /** Details of the refusal. docs/errors.md lists the fields of each code. */
  readonly details: Readonly<Record<string, unknown>>

  constructor(request: RequestName, status: number, body: ErrorBody, retryAfterMs?: number) {
    super(`${request.method} ${request.path}: ${body.error}: ${body.message}`)
    const entry = Object.hasOwn(errors, body.error) ? errors[body.error] : undefined
    this.code = entry === undefined ? 'unrecognized' : body.error
    this.reason = body.message
    this.status = status
    this.retry = entry?.retry ?? 'never'
    this.requestId = body.request_id
    this.retryAfterMs = body.retry_after_ms ?? retryAfterMs
    this.details = body.details ?? {}
  }
}

/**
 * Failure on this side: no usable answer of the node, or a local cause. `cause` holds the platform's error,
 * if there is one.
 */
export class LocalError extends Error {
  override readonly name = 'LocalError'
  /** One of {@link localErrors}. */
  readonly code: LocalErrorCode

  constructor(code: LocalErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.code = code
  }
}

/**
 * Refusal of a helper. Other failures are a BridgeError (refused by the node) or a LocalError (no usable
 * answer).
 */
export class HelperError extends Error {
  override readonly name = 'HelperError'
  /** One of {@link helperErrors}. */
  readonly code: HelperErrorCode | 'unrecognized'
  /** Status of the HTTP answer. */
  readonly status: number

  constructor(request: { readonly method: string; readonly path: string }, status: number, code: string) {
    super(`${request.method} ${request.path}: ${status} ${code}`)
    this.code = Object.hasOwn(helperErrors, code) ? (code as HelperErrorCode) : 'unrecognized'
    this.status = status
  }
}

/** Codes of a request that may have reached the node, but got no usable answer. */
export const unanswered: ReadonlySet<LocalErrorCode> = new Set([
  'unreachable',
  'timeout',
  'aborted',
  'bad_response',
  'redirected',
  'certificate_refused',
  'sandbox_blocked',
])

/**
 * Returns whether the request may have taken effect without a usable answer. The caller retries it with the
 * same Idempotency-Key, or stores it for later.
 */
export function isOutcomeUnknown(error: unknown): boolean {
  if (error instanceof BridgeError) return error.status === 503 || error.retry === 'same-key'
  return error instanceof LocalError && unanswered.has(error.code)
}

/**
 * Returns whether the request had no effect and never will, because the node refused it or its recipient does
 * not exist.
 *
 * It is not the opposite of {@link isOutcomeUnknown}. Both are false after a failure of this machine, such as
 * a full disk.
 */
export function isRefused(error: unknown): boolean {
  if (error instanceof BridgeError) return !isOutcomeUnknown(error)
  return error instanceof LocalError && error.code === 'peer_unknown'
}
