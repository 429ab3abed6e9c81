/** What the part store refuses, as the main API says it. "Their errors are main-API Errors." Contract §9. */
import { PartError } from '../../../sdk/parts/part-error.ts'
import { ApiError } from '../../api-error.ts'
import type { Context } from '../../context.ts'
import { retryAfterMs } from '../../retry-after.ts'
import { removeIfOver } from './removal.ts'

const meanings: Partial<Record<PartError['code'], () => ApiError>> = {
  transfer_busy: () =>
    new ApiError('transfer_busy', {
      message: 'Another upload of this package is under way; try again when it has ended.',
      retryAfterMs: retryAfterMs.ownWait,
    }),
  hash_mismatch: () => otherBytes('The bytes do not have the hash that the offer names; nothing was kept.'),
  length_mismatch: () => otherBytes('The body ended early or was too long; nothing was kept.'),
  part_conflict: () => otherBytes('The part is stored with the bytes of the offer; others are refused.'),
  parts_missing: () =>
    new ApiError('state_conflict', {
      message: 'Not every part is stored; the status names those that are.',
      details: { missing: 'parts' },
    }),
  too_slow: () =>
    new ApiError('unavailable', {
      message: 'The body moved less than 64 KiB in ten seconds; send the part again.',
      retryAfterMs: retryAfterMs.atOnce,
    }),
  insufficient_space: () =>
    new ApiError('storage_full', {
      message: 'The disk of the node has not enough free space for the package.',
      retryAfterMs: retryAfterMs.disk,
    }),
  expired: () =>
    new ApiError('state_conflict', {
      message: 'The transfer ended while its bytes moved; nothing of them was kept.',
    }),
  not_found: () => new ApiError('not_found', { message: 'There is no such part, or nothing was uploaded.' }),
}

const otherBytes = (message: string): ApiError => new ApiError('part_mismatch', { message })

/** The same for what may make or fill the folder of a package: nothing of it stays when the transfer ended meanwhile. */
export async function filling<T>(context: Context, transferId: string, act: () => Promise<T>): Promise<T> {
  try {
    return await refusing(act)
  } finally {
    await removeIfOver(context, transferId)
  }
}

/** Anything that has no meaning here is a failure of the disk: logged whole. */
export async function refusing<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    if (!(error instanceof PartError)) throw error
    const fault = meanings[error.code]?.()
    if (fault !== undefined) throw fault
    throw new ApiError('unavailable', {
      message: 'The package store failed; its operator must look.',
      retryAfterMs: retryAfterMs.others,
      cause: error,
    })
  }
}
