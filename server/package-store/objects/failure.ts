/** Failures of the object store, in words. */
import { ApiError } from '../../api-error.ts'
import { retryAfterMs } from '../../retry-after.ts'

/** An answer of the store other than success. */
export class StoreRefusal extends Error {
  override readonly name = 'StoreRefusal'
  readonly status: number
  /** The code in the body of the answer, such as `NoSuchBucket`. Empty if there is none. */
  readonly code: string

  constructor(status: number, code: string, detail = '') {
    super([`the object store answered ${status}`, code, detail].filter((part) => part !== '').join(' '))
    this.status = status
    this.code = code
  }

  /** Whether the object, or the whole bucket, does not exist. */
  get isMissing(): boolean {
    return this.status === 404
  }

  /** Whether only a change of the settings, or of the store, can help. */
  get isFinal(): boolean {
    return this.status < 500 && this.status !== 408 && this.status !== 429
  }
}

/** The store took or gave less than 64 KiB in ten seconds. */
export class StoreStalledError extends Error {
  override readonly name = 'StoreStalledError'
  constructor() {
    super('the object store was slower than 64 KiB in ten seconds')
  }
}

/** Other bytes than those that were stored. */
export class ObjectDiffersError extends Error {
  override readonly name = 'ObjectDiffersError'
  constructor(key: string) {
    super(`the object store returned other bytes for ${key}`)
  }
}

const wordsOf = (error: unknown): string => {
  if (error instanceof StoreStalledError)
    return 'The object store of the node was slower than 64 KiB in ten seconds. Send the request again.'
  if (error instanceof ObjectDiffersError)
    return 'The object store of the node returned other bytes than were stored. Its operator has to check it.'
  if (!(error instanceof StoreRefusal))
    return 'The object store of the node does not answer. Send the request again.'
  const answer = `The object store of the node answered ${[error.status, error.code].join(' ').trim()}.`
  return error.isFinal ? `${answer} Its operator has to check it.` : `${answer} Send the request again.`
}

/** Returns the refusal for a request that failed at the object store. Other errors pass through. */
export function storeFailure(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  return new ApiError('unavailable', {
    message: wordsOf(error),
    retryAfterMs: retryAfterMs[waitOf(error)],
    cause: error,
  })
}

/**
 * A connection that broke says nothing about the next one. A store that answers with a failure or stalls has too
 * much to do.
 */
function waitOf(error: unknown): 'otherParty' | 'disk' | 'objectStore' {
  if (error instanceof ObjectDiffersError || (error instanceof StoreRefusal && error.isFinal))
    return 'otherParty'
  return error instanceof StoreRefusal || error instanceof StoreStalledError ? 'disk' : 'objectStore'
}
