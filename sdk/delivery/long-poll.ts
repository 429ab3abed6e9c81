/** The inbox as a stream of pages: one long-poll after another. Contract §6. */
import type { InboxPage } from '../contract/agent/messages.ts'
import { limits } from '../contract/limits.ts'
import type { Inbox } from '../resources/inbox.ts'
import type { CallOptions } from '../transport/http.ts'

export interface LongPollOptions extends CallOptions {
  readonly limit?: number | undefined
  /** Milliseconds until the stream ends; it waits no longer than that. */
  readonly leftMs: () => number
}

/** Every page, empty ones included. Ends when no time is left. @throws what the inbox refuses. */
export async function* longPoll(
  inbox: Inbox,
  { leftMs, ...options }: LongPollOptions,
): AsyncGenerator<InboxPage, void, undefined> {
  for (let left = leftMs(); left > 0; left = leftMs()) {
    const waitSeconds = Math.min(limits.inboxWaitSeconds, Math.ceil(left / 1000))
    yield await inbox.read({ ...options, waitSeconds })
  }
}
