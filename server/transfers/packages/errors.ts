/** Translates errors of the part store into ApiErrors. "Their errors are main-API Errors." Contract §9. */
import { translations } from '../../../sdk/contract/helper/errors.ts'
import { PartError } from '../../../sdk/parts/part-error.ts'
import { ApiError } from '../../api-error.ts'
import type { Context } from '../../context.ts'
import { retryAfterMs } from '../../retry-after.ts'
import { removeIfEnded } from '../package-removal.ts'

/** A code without a refusal of its own is a failure of the disk. */
function refusalOf(error: PartError): ApiError {
  const { node } = translations[error.code]
  if (node === null)
    return new ApiError('unavailable', {
      message: 'The package store failed. The operator of the node has to check it.',
      retryAfterMs: retryAfterMs.otherParty,
      cause: error,
    })
  if (node.code === 'unavailable' || node.code === 'storage_full')
    return new ApiError(node.code, { message: node.message, retryAfterMs: retryAfterMs[node.retryAfter] })
  const { code, message, details, retryAfter } = node
  return new ApiError(code, {
    message,
    ...(details && { details }),
    ...(retryAfter && { retryAfterMs: retryAfterMs[retryAfter] }),
  })
}

/**
 * Like `withApiErrors`, for operations that may create or write the folder of a package. If the transfer
 * ended meanwhile, the folder is removed.
 */
export async function removingIfEnded<T>(
  context: Context,
  transferId: string,
  act: () => Promise<T>,
): Promise<T> {
  try {
    return await withApiErrors(act)
  } finally {
    await removeIfEnded(context, transferId)
  }
}

/**
 * Runs an operation and translates its errors. A code without translation is a failure of the disk and is
 * logged completely.
 */
export async function withApiErrors<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    throw error instanceof PartError ? refusalOf(error) : error
  }
}
