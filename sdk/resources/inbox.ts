/** The stored messages that the agent has not acknowledged. Reading never acknowledges. Contract §6. */
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
  /** How long the service may wait for the first message, 0 to 20. */
  readonly waitSeconds?: number | undefined
  readonly limit?: number | undefined
}

/** What an answer may take beside the wait. */
const answerMs = 15_000

export class Inbox {
  readonly #call: Call

  constructor(call: Call) {
    this.#call = call
  }

  /** What is due to be offered to this session, waiting for it when there is nothing. @throws wait_limit */
  read({ waitSeconds, limit, ...options }: InboxOptions = {}): Promise<InboxPage> {
    const query = given({ wait_seconds: waitSeconds, limit })
    const timeoutMs = options.timeoutMs ?? (waitSeconds ?? 0) * 1000 + answerMs
    return this.#call(entries.read, { query }, { ...options, timeoutMs })
  }

  /**
   * One page of everything unacknowledged, offered to this session or not, in the order in which it was stored. To list
   * is not to be offered: what a listener of the session waits for reaches it all the same. See {@link all}.
   */
  list({ after, limit, ...options }: PageOptions & CallOptions = {}): Promise<Unacknowledged> {
    return this.#call(entries.list, { query: given({ after, limit }) }, options)
  }

  /** Everything unacknowledged, read page after page. */
  all(options: CallOptions = {}): AsyncGenerator<Message, void, undefined> {
    const read = (after: string | undefined) => this.list({ ...options, after, limit: limits.pageMax })
    return everyItem(read, (page) => page.messages)
  }
}
