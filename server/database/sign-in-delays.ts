/**
 * Growing delays instead of a lockout: from the fifth consecutive wrong password of a key, 1, 2, 4 … 300
 * seconds. In memory on SQLite (`identity/sign-in-delays.ts`), and in a table that all nodes share on
 * PostgreSQL.
 */
import { ApiError } from '../api-error.ts'

export interface SignInDelays {
  /** @throws rate_limited while the key is delayed */
  require(key: string): Promise<void>
  failed(key: string): Promise<void>
  succeeded(key: string): Promise<void>
}

export const freeAttempts = 4
export const longestDelaySeconds = 300

export const tooManyPasswords = (leftMs: number): ApiError =>
  new ApiError('rate_limited', {
    message: `Too many wrong passwords; wait ${Math.ceil(leftMs / 1000)} s.`,
    retryAfterMs: Math.ceil(leftMs),
  })
