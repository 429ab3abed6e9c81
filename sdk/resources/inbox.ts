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

const patienceMs = (waitSeconds: number | undefined, { timeoutMs }: CallOptions): number =>
  timeoutMs ?? (waitSeconds ?? 0) * 1000 + answerMs

export class Inbox {
  readonly #call: Call

  constructor(call: Call) {
    this.#call = call
  }

  /** What is due to be offered to this session, waiting for it when there is nothing. @throws wait_limit */
  read({ waitSeconds, limit, ...options }: InboxOptions = {}): Promise<InboxPage> {
    const query = given({ wait_seconds: waitSeconds, limit })
    return this.#call(entries.read, { query }, { ...options, timeoutMs: patienceMs(waitSeconds, options) })
  }

  /**
   * One page of everything unacknowledged, offered to this session or not, in the order in which it was
   * stored. Listing offers nothing: a listener of the session still gets every message. See {@link all}.
   *
   * With `waitSeconds` a page that would be empty is answered once something changes for this agent, which
   * need not be a message, or after that time.
   *
   * @throws wait_limit, capacity_reached: for a wait only.
   */
  list({ after, limit, waitSeconds, ...options }: PageOptions & InboxOptions = {}): Promise<Unacknowledged> {
    const query = given({ after, limit, wait_seconds: waitSeconds })
    return this.#call(entries.list, { query }, { ...options, timeoutMs: patienceMs(waitSeconds, options) })
  }

  /** Everything unacknowledged, or what was stored `after` a message of it, read page after page. */
  all(options: Pick<PageOptions, 'after'> & CallOptions = {}): AsyncGenerator<Message, void, undefined> {
    const read = (after = options.after) => this.list({ ...options, after, limit: limits.pageMax })
    return everyItem(read, (page) => page.messages)
  }
}
