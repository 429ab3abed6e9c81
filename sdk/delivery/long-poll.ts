/** The inbox as a stream of pages: one long-poll after another. Contract §6. */
import { limits } from '../contract/limits.ts'
import type { Inbox } from '../resources/inbox.ts'
import type { Attempt } from './attempt.ts'
import type { StreamEvent } from './stream-queue.ts'

export interface LongPollOptions {
  readonly limit: number | undefined
  /** Asked between two polls. */
  readonly goesOn: () => boolean
}

/** Every page, empty ones included. Ends when no time is left, or when it is not to go on. @throws what the inbox refuses. */
export async function* longPoll(
  inbox: Inbox,
  attempt: Attempt,
  { limit, goesOn }: LongPollOptions,
): AsyncGenerator<StreamEvent, void, undefined> {
  const { leftMs, monotonicMs } = attempt.options
  do {
    const waitSeconds = Math.min(limits.inboxWaitSeconds, Math.ceil(leftMs() / 1000))
    const page = await inbox.read({ limit, waitSeconds, signal: attempt.signal })
    if (attempt.openedMs === undefined) {
      attempt.openedMs = monotonicMs()
      yield 'open'
    }
    yield page
  } while (leftMs() > 0 && goesOn())
}
