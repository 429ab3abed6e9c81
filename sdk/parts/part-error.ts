/** What the part store refuses, by the codes of the transfer protocol. Each home of a file gives them its own status and body. */
import type { HelperErrorCode } from '../contract/helper/errors.ts'

export class PartError extends Error {
  override readonly name = 'PartError'
  readonly code: HelperErrorCode

  constructor(code: HelperErrorCode, options?: { cause?: unknown }) {
    super(code, options)
    this.code = code
  }
}

/** The name that the platform gives to a failed call. */
export const platformCode = (error: unknown): string =>
  String((error as NodeJS.ErrnoException | null)?.code ?? '')

/** A failed call on a file, in the words of the protocol. What is a refusal already passes through. */
export function diskRefusal(error: unknown): PartError {
  if (error instanceof PartError) return error
  const code = platformCode(error)
  if (code === 'ENOSPC' || code === 'EDQUOT') return new PartError('insufficient_space', { cause: error })
  if (unsafe.has(code)) return new PartError('unsafe_file', { cause: error })
  return new PartError('storage_failed', { cause: error })
}

/** What opening a link, a special file or a folder answers. */
const unsafe: ReadonlySet<string> = new Set(['ELOOP', 'EMLINK', 'ENXIO', 'EISDIR', 'ENOTDIR', 'ENODEV'])
