/** Error of a failed start. "Helper startup failures print only fixed error codes." Spec §7. */
import type { StartErrorCode } from '../sdk/contract/helper/errors.ts'

export class StartError extends Error {
  override readonly name = 'StartError'
  readonly code: StartErrorCode

  constructor(code: StartErrorCode, options?: { cause?: unknown }) {
    super(code, options)
    this.code = code
  }
}
