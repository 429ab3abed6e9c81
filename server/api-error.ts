/** The only thing the server throws on purpose. `http/faults.ts` turns it into a status and a body. */
import { type ErrorCode, errors } from '../sdk/contract/errors.ts'

export interface FaultDetail {
  /** One sentence for a person: what is wrong and what to do. Default: the catalogue's meaning. */
  readonly message?: string
  readonly details?: Readonly<Record<string, unknown>>
  readonly retryAfterMs?: number
  /** For the log, beside the request's id; the caller is not told. */
  readonly cause?: unknown
}

/** Codes of 429 and 503. Each says when the caller may come back, since nothing fills that in afterwards. */
export type WaitingCode = {
  [C in ErrorCode]: (typeof errors)[C]['status'] extends 429 | 503 ? C : never
}[ErrorCode]
export type PlainCode = Exclude<ErrorCode, WaitingCode>

export type WaitingDetail = FaultDetail & { readonly retryAfterMs: number }

export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly code: ErrorCode
  readonly details: Readonly<Record<string, unknown>> | undefined
  readonly retryAfterMs: number | undefined

  constructor(code: WaitingCode, detail: WaitingDetail)
  constructor(code: PlainCode, detail?: FaultDetail)
  constructor(code: ErrorCode, detail: FaultDetail = {}) {
    super(detail.message ?? errors[code].meaning, 'cause' in detail ? { cause: detail.cause } : undefined)
    this.code = code
    this.details = detail.details
    this.retryAfterMs = detail.retryAfterMs
  }

  get status(): number {
    return errors[this.code].status
  }
}
