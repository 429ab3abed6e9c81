/**
 * Hearing about new messages: one stream of inbox pages, whichever way they come.
 *
 * - Once heard, the node may go away and come back: the listener asks again, with growing pauses up to 15 seconds.
 *   A node that was never heard is an error, since its address may be wrong.
 * - It ends by itself when the owner's policy says so: so long without a message, or so many empty answers.
 * - Reading never acknowledges.
 *
 * Contract §5 (policy), §6.
 */
import { setTimeout as timer } from 'node:timers/promises'
import type { Acknowledged, InboxPage, OfferedMessage } from '../contract/agent/messages.ts'
import type { SessionPolicy } from '../contract/agent/sessions.ts'
import type { Inbox } from '../resources/inbox.ts'
import { BridgeError, LocalError } from '../transport/failures.ts'
import type { CallOptions } from '../transport/http.ts'
import { longPoll } from './long-poll.ts'

export interface ReceivedMessage extends OfferedMessage {
  /** Say that it is durably recorded. */
  acknowledge(): Promise<Acknowledged>
}

export interface ListenOptions extends Pick<CallOptions, 'signal'> {
  /** The most messages of a page. */
  readonly limit?: number | undefined
  /** When to stop by itself. */
  readonly until?: Date | undefined
  /** The node went away (with the reason), or is back. */
  readonly onConnection?: ((away: Error | undefined) => void) | undefined
}

export interface Listening {
  readonly inbox: Inbox
  /** The owner's, as the session was told. */
  readonly policy: () => Promise<SessionPolicy | null>
  readonly clock: () => Date
  readonly random: (bytes: number) => Buffer
  readonly sleep?: ((ms: number, signal: AbortSignal | undefined) => Promise<void>) | undefined
}

const pauses = { firstMs: 500, longestMs: 15_000 } as const

/** Every page until `until`, the policy's end, or the abort, which throws. */
export async function* inboxPages(
  listening: Listening,
  options: ListenOptions,
): AsyncGenerator<InboxPage, void, undefined> {
  const leftMs = () => (options.until?.getTime() ?? Number.POSITIVE_INFINITY) - listening.clock().getTime()
  const patience = new Patience(listening)
  let failures = 0
  let heard = false
  while (leftMs() > 0) {
    try {
      for await (const page of longPoll(listening.inbox, { ...options, leftMs })) {
        if (failures > 0) options.onConnection?.(undefined)
        failures = 0
        heard = true
        yield page
        if (await patience.isOver(page)) return
      }
    } catch (error) {
      if (!heard || !mayPass(error)) throw error
      if (failures === 0) options.onConnection?.(error)
      failures += 1
      await pause(listening, pauseMs(failures, error, listening.random), leftMs(), options.signal)
    }
  }
}

/** The owner's limits to listening without news. */
class Patience {
  readonly #listening: Listening
  #since: number
  #empty = 0

  constructor(listening: Listening) {
    this.#listening = listening
    this.#since = listening.clock().getTime()
  }

  async isOver(page: InboxPage): Promise<boolean> {
    const now = this.#listening.clock().getTime()
    if (page.messages.length > 0) {
      this.#since = now
      this.#empty = 0
      return false
    }
    this.#empty += 1
    const { idle_seconds: idle, empty_polls: polls } = (await this.#listening.policy()) ?? unlimited
    return (idle !== null && now - this.#since >= idle * 1000) || (polls !== null && this.#empty >= polls)
  }
}

const unlimited: SessionPolicy = { idle_seconds: null, empty_polls: null }

/** What time mends: the node is away or full, or another wait of this session is still open. */
function mayPass(error: unknown): error is Error {
  if (error instanceof BridgeError) {
    return error.status === 503 || error.code === 'wait_limit' || error.code === 'rate_limited'
  }
  return error instanceof LocalError && passing.has(error.code)
}

/** A proxy before a restarting node may answer anything for a while. */
const passing: ReadonlySet<LocalError['code']> = new Set(['unreachable', 'timeout', 'bad_response'])

function pauseMs(failures: number, error: Error, random: (bytes: number) => Buffer): number {
  const grown = Math.min(pauses.longestMs, pauses.firstMs * 2 ** (failures - 1))
  const jitter = random(4).readUInt32BE() / 2 ** 32
  const named = error instanceof BridgeError ? (error.retryAfterMs ?? 0) : 0
  return Math.max(named, grown * (0.5 + jitter / 2))
}

async function pause(
  { sleep }: Listening,
  ms: number,
  leftMs: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  const bounded = Math.max(0, Math.min(ms, leftMs))
  try {
    if (sleep !== undefined) await sleep(bounded, signal)
    else await timer(bounded, undefined, signal === undefined ? {} : { signal })
  } catch (cause) {
    throw new LocalError('aborted', 'listening was given up by the caller', { cause })
  }
}
