/**
 * Endless reading: one long-poll after another, with retries if the node is unreachable.
 *
 * If the node has never answered, the first failure is thrown, since the address may be wrong. Later failures
 * are retried.
 */
import { limits } from '../../contract/limits.ts'
import { LocalError } from '../../transport/failures.ts'
import { pause as timer } from '../../transport/pause.ts'
import { backoff, pauses } from '../../transport/retry.ts'
import { isTemporary } from '../../transport/temporary.ts'

/** Options of following. */
export interface FollowOptions {
  readonly signal?: AbortSignal | undefined
  /**
   * Called with the reason when the node becomes unreachable, and with undefined when it is reachable again.
   */
  readonly onConnection?: ((away: Error | undefined) => void) | undefined
}

interface Batch<T> {
  readonly events: readonly T[]
  readonly next_after: string | null
}

interface Cursor {
  readonly after?: string | undefined
  readonly limit?: number | undefined
  readonly waitSeconds: number
}

export async function* following<T>(
  options: FollowOptions & { readonly after?: string | undefined; readonly limit?: number | undefined },
  read: (cursor: Cursor) => Promise<Batch<T>>,
): AsyncGenerator<T, void, undefined> {
  const { signal, onConnection } = options
  let { after, limit } = options
  let isHeard = false
  let failures = 0
  for (;;) {
    signal?.throwIfAborted()
    try {
      // The first read does not wait: a node that dies during a wait must have answered before.
      const batch = await read({ after, limit, waitSeconds: isHeard ? limits.inboxWaitSeconds : 0 })
      if (failures > 0) onConnection?.(undefined)
      isHeard = true
      failures = 0
      yield* batch.events
      after = batch.next_after ?? after
      limit = limits.pageMax
    } catch (error) {
      if (!isHeard || !isTemporary(error, 'reading')) throw error
      if (failures === 0) onConnection?.(error)
      failures += 1
      await pause(backoff(failures, pauses.follow), signal)
    }
  }
}

/** Yields the result of a read again after each time that `changed` resolves. */
export async function* watching<T>(
  { signal, onConnection }: FollowOptions,
  read: () => Promise<T>,
  changed: (last: T) => Promise<unknown>,
): AsyncGenerator<T, void, undefined> {
  let last: T | undefined
  let failures = 0
  for (;;) {
    signal?.throwIfAborted()
    try {
      if (last !== undefined && failures === 0) await changed(last)
      last = await read()
      if (failures > 0) onConnection?.(undefined)
      failures = 0
      yield last
    } catch (error) {
      if (last === undefined || !isTemporary(error, 'reading')) throw error
      if (failures === 0) onConnection?.(error)
      failures += 1
      await pause(backoff(failures, pauses.follow), signal)
    }
  }
}

/** @throws LocalError aborted */
async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  try {
    await timer(ms, signal)
  } catch (cause) {
    throw new LocalError('aborted', 'given up by the caller', { cause })
  }
}
