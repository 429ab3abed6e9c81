/**
 * The error that the server throws to refuse a request. `http/errors.ts` turns it into a status and a body.
 */
import { type ErrorCode, errors } from '../sdk/contract/errors.ts'

export interface ErrorDetail {
  /**
   * One sentence for a person: what is wrong and what to do. Default: the code's meaning in the catalogue.
   */
  readonly message?: string
  readonly details?: Readonly<Record<string, unknown>>
  readonly retryAfterMs?: number
  /** Goes into the log with the request's id and is never sent to the caller. */
  readonly cause?: unknown
}

/**
 * Codes of status 429 and 503. Each must be thrown with `retryAfterMs`, because no default is filled in
 * later.
 */
export type WaitingCode = {
  [C in ErrorCode]: (typeof errors)[C]['status'] extends 429 | 503 ? C : never
}[ErrorCode]
export type PlainCode = Exclude<ErrorCode, WaitingCode>

export type WaitingDetail = ErrorDetail & { readonly retryAfterMs: number }

export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly code: ErrorCode
  readonly details: Readonly<Record<string, unknown>> | undefined
  readonly retryAfterMs: number | undefined

  constructor(code: WaitingCode, detail: WaitingDetail)
  constructor(code: PlainCode, detail?: ErrorDetail)
  constructor(code: ErrorCode, detail: ErrorDetail = {}) {
    super(detail.message ?? errors[code].meaning, 'cause' in detail ? { cause: detail.cause } : undefined)
    this.code = code
    this.details = detail.details
    this.retryAfterMs = detail.retryAfterMs
  }

  get status(): number {
    return errors[this.code].status
  }
}
