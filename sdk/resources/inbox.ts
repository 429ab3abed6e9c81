/** Inbox: the stored messages that the agent has not acknowledged. Reading never acknowledges. Contract §6. */
import {
  inbox as entries,
  type InboxPage,
  type Message,
  type Unacknowledged,
} from '../contract/agent/messages.ts'
import { limits } from '../contract/limits.ts'
import type { CallOptions } from '../transport/http.ts'
import { type Call, everyItem, given, type PageOptions } from './call.ts'

export interface InboxOptions extends CallOptions {
  /** Seconds that the node may wait for the first message, 0 to 20. */
  readonly waitSeconds?: number | undefined
  readonly limit?: number | undefined
}

/** Milliseconds that an answer may take in addition to the wait. */
const answerMs = 15_000

const patienceMs = (waitSeconds: number | undefined, { timeoutMs }: CallOptions): number =>
  timeoutMs ?? (waitSeconds ?? 0) * 1000 + answerMs

export class Inbox {
  readonly #call: Call

  constructor(call: Call) {
    this.#call = call
  }

  /**
   * Reads the messages that are due, which offers them to this session. Waits if there are none. Unlike
   * {@link list}, it skips messages that were offered within the redelivery interval.
   *
   * @throws wait_limit
   */
  read({ waitSeconds, limit, ...options }: InboxOptions = {}): Promise<InboxPage> {
    const query = given({ wait_seconds: waitSeconds, limit })
    return this.#call(entries.read, { query }, { ...options, timeoutMs: patienceMs(waitSeconds, options) })
  }

  /**
   * Reads one page of all unacknowledged messages, in the order in which they were stored. Unlike {@link
   * read} it offers nothing, so a listener of the session still gets every message. See {@link all}.
   *
   * With `waitSeconds`, an empty page is answered only after that time, or when something changes for this
   * agent. The change need not be a message.
   *
   * @throws wait_limit, capacity_reached; both only with `waitSeconds`.
   */
  list({ after, limit, waitSeconds, ...options }: PageOptions & InboxOptions = {}): Promise<Unacknowledged> {
    const query = given({ after, limit, wait_seconds: waitSeconds })
    return this.#call(entries.list, { query }, { ...options, timeoutMs: patienceMs(waitSeconds, options) })
  }

  /** Yields all unacknowledged messages, or those stored `after` a given message id, page after page. */
  all(options: Pick<PageOptions, 'after'> & CallOptions = {}): AsyncGenerator<Message, void, undefined> {
    const read = (after = options.after) => this.list({ ...options, after, limit: limits.pageMax })
    return everyItem(read, (page) => page.messages)
  }
}
