/** The inbox as a stream of pages: one long-poll after another. Contract §6. */
import { limits } from '../contract/limits.ts'
import type { Inbox } from '../resources/inbox.ts'
import type { Attempt } from './attempt.ts'
import type { StreamEvent } from './stream-queue.ts'

export interface LongPollOptions {
  readonly limit: number | undefined
  /** Called between two polls. False ends the stream. */
  readonly shouldContinue: () => boolean
}

/**
 * Yields every page, including empty ones, until no time is left or `shouldContinue` returns false.
 *
 * @throws BridgeError, LocalError as `inbox.read`.
 */
export async function* longPoll(
  inbox: Inbox,
  attempt: Attempt,
  { limit, shouldContinue }: LongPollOptions,
): AsyncGenerator<StreamEvent, void, undefined> {
  const { leftMs, monotonicMs } = attempt.options
  do {
    // The caller may have handled earlier pages beyond the end of its time.
    const seconds = Math.max(0, Math.ceil(leftMs() / 1000))
    const waitSeconds = Math.min(limits.inboxWaitSeconds, seconds)
    // One attempt: the answer of a broken one may be lost, and the listener must know. See catch-up.ts.
    const page = await inbox.read({ limit, waitSeconds, signal: attempt.signal, attempts: 1 })
    if (attempt.openedMs === undefined) {
      attempt.openedMs = monotonicMs()
      yield 'open'
    }
    yield page
  } while (leftMs() > 0 && shouldContinue())
}
