/**
 * The three families of errors that a client meets, and what each says about the outcome of the request.
 *
 * - `BridgeError`: the service refused. Its code is one of the catalogue.
 * - `HelperError`: a direct helper refused, with a code of its own catalogue.
 * - `LocalError`: the request never reached the service, or no answer came back.
 *
 * Messages name method and path, and the address where nothing usable answered; never a header, a body or a
 * query.
 *
 * Contract §2, §13.
 */
import type { ErrorBody } from '../contract/error-body.ts'
import { type ErrorCode, errors, type Retry } from '../contract/errors.ts'
import { type HelperErrorCode, helperErrors } from '../contract/helper/errors.ts'

/** A refusal by a newer service may carry a code that this client does not know. */
export type RefusalCode = ErrorCode | 'unrecognized'

/** Code → meaning of everything that goes wrong on this side of the service. */
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
export interface Asked {
  readonly method: string
  readonly path: string
  /** The address of the node, where a failure may lie in it. */
  readonly at?: string | undefined
}

/** The service refused. See {@link LocalError} for everything else. */
export class BridgeError extends Error {
  override readonly name = 'BridgeError'
  /** One of {@link errors}; `unrecognized` for one that only a newer node knows. */
  readonly code: RefusalCode
  /** The node's message for people. `message` starts with the request and the code, and then repeats it. */
  readonly reason: string
  /** Of the HTTP answer. */
  readonly status: number
  /** Whether and how the same request may be tried again. */
  readonly retry: Retry
  /** Finds the request in the node's log and audit. */
  readonly requestId: string
  /** How long the node asks to wait. */
  readonly retryAfterMs: number | undefined
  /** Details of the refusal. docs/errors.md lists the fields of each code. */
  readonly details: Readonly<Record<string, unknown>>

  constructor(asked: Asked, status: number, body: ErrorBody, retryAfterMs?: number) {
    super(`${asked.method} ${asked.path}: ${body.error}: ${body.message}`)
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
 * No answer of the service stands behind this one. `cause` holds what the platform said, where it said
 * something.
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

/** A helper refused. Everything else is a BridgeError (the service) or a LocalError (nobody answered). */
export class HelperError extends Error {
  override readonly name = 'HelperError'
  /** One of {@link helperErrors}. */
  readonly code: HelperErrorCode | 'unrecognized'
  /** Of the HTTP answer. */
  readonly status: number

  constructor(asked: { readonly method: string; readonly path: string }, status: number, code: string) {
    super(`${asked.method} ${asked.path}: ${status} ${code}`)
    this.code = Object.hasOwn(helperErrors, code) ? (code as HelperErrorCode) : 'unrecognized'
    this.status = status
  }
}

/** Codes of a request that may have arrived, without an answer of the service. */
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
 * Whether the request may have taken effect although no answer says so: retry with the same key, or keep it.
 */
export function isOutcomeUnknown(error: unknown): boolean {
  if (error instanceof BridgeError) return error.status === 503 || error.retry === 'same-key'
  return error instanceof LocalError && unanswered.has(error.code)
}

/**
 * Whether the request had no effect and never will: the node refused it, or its recipient does not exist.
 *
 * Not the opposite of {@link isOutcomeUnknown}: after a failure of this machine, such as a full disk, neither
 * holds.
 */
export function isRefused(error: unknown): boolean {
  if (error instanceof BridgeError) return !isOutcomeUnknown(error)
  return error instanceof LocalError && error.code === 'peer_unknown'
}
