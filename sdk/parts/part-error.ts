/**
 * Errors of the part store, with the codes of the transfer protocol. Helper, node and client turn them into
 * their own errors.
 */
import type { HelperErrorCode } from '../contract/helper/errors.ts'

export class PartError extends Error {
  override readonly name = 'PartError'
  readonly code: HelperErrorCode

  constructor(code: HelperErrorCode, options?: { cause?: unknown }) {
    super(code, options)
    this.code = code
  }
}

/** Returns the platform's code for a failed call, such as ENOENT, or an empty string. */
export const platformCode = (error: unknown): string =>
  String((error as NodeJS.ErrnoException | null)?.code ?? '')

/** Returns the PartError for a failed file operation. A PartError passes through. */
export function diskRefusal(error: unknown): PartError {
  if (error instanceof PartError) return error
  const code = platformCode(error)
  if (code === 'ENOSPC' || code === 'EDQUOT') return new PartError('insufficient_space', { cause: error })
  if (unsafe.has(code)) return new PartError('unsafe_file', { cause: error })
  return new PartError('storage_failed', { cause: error })
}

/** Error codes for opening a link, a special file or a folder. */
const unsafe: ReadonlySet<string> = new Set(['ELOOP', 'EMLINK', 'ENXIO', 'EISDIR', 'ENOTDIR', 'ENODEV'])
