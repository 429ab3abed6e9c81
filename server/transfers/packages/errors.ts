/** Translates errors of the part store into ApiErrors. "Their errors are main-API Errors." Contract §9. */
import { PartError } from '../../../sdk/parts/part-error.ts'
import { ApiError } from '../../api-error.ts'
import type { Context } from '../../context.ts'
import { retryAfterMs } from '../../retry-after.ts'
import { removeIfEnded } from './removal.ts'

const apiErrors: Partial<Record<PartError['code'], () => ApiError>> = {
  transfer_busy: () =>
    new ApiError('transfer_busy', {
      message: 'Another upload of this package is running. Retry when it has ended.',
      retryAfterMs: retryAfterMs.ownWait,
    }),
  hash_mismatch: () => partMismatch('The hash of the bytes differs from the offer. Nothing was stored.'),
  length_mismatch: () => partMismatch('The body is shorter or longer than the part. Nothing was stored.'),
  part_conflict: () =>
    partMismatch('The part is already stored with the bytes of the offer. Other bytes are refused.'),
  parts_missing: () =>
    new ApiError('state_conflict', {
      message: 'Some parts are missing. The status lists the stored ones.',
      details: { missing: 'parts' },
    }),
  too_slow: () =>
    new ApiError('unavailable', {
      message: 'The body was slower than 64 KiB in ten seconds. Send the part again.',
      retryAfterMs: retryAfterMs.immediately,
    }),
  insufficient_space: () =>
    new ApiError('storage_full', {
      message: 'The disk of the node does not have enough free space for the package.',
      retryAfterMs: retryAfterMs.disk,
    }),
  expired: () =>
    new ApiError('state_conflict', {
      message: 'The transfer ended during the upload or download. The bytes of this request were not stored.',
    }),
  not_found: () =>
    new ApiError('not_found', { message: 'The part does not exist, or nothing has been uploaded.' }),
}

const partMismatch = (message: string): ApiError => new ApiError('part_mismatch', { message })

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
    if (!(error instanceof PartError)) throw error
    const refusal = apiErrors[error.code]?.()
    if (refusal !== undefined) throw refusal
    throw new ApiError('unavailable', {
      message: 'The package store failed. The operator of the node has to check it.',
      retryAfterMs: retryAfterMs.otherParty,
      cause: error,
    })
  }
}
