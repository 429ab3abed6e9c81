/**
 * The inbox pushed: what the event stream and the socket have in common.
 *
 * Phases: `open` reads once, which spends the nonce and asks for admission; then it pushes pages until nothing is new;
 * then it sleeps until a wake-up, a redelivery that falls due, or the end. Every read asks for admission again, so a
 * stream ends with its reason as soon as the agent may not listen any more, and nothing leaks after.
 *
 * A reader that does not keep up is never buffered without bound: the next page waits until the last one was flushed,
 * and a stream is cut when more than 1 MiB is unsent or nothing was flushed for ten seconds.
 *
 * Contract §6.
 */
import type { OfferedMessage } from '../../sdk/contract/agent/messages.ts'
import type { HeartbeatEvent, MessagesEvent, Receipt, ReceiptsEvent } from '../../sdk/contract/events.ts'
import { limits } from '../../sdk/contract/limits.ts'
import type { Context } from '../context.ts'
import type { Fault } from '../fault.ts'
import { toFault } from '../http/faults.ts'
import type { AgentCaller } from '../identity/callers.ts'
import { holdOffer, type InboxRead, readInbox } from '../inbox/actions.ts'
import type { Ticking } from './streams.ts'

export type StreamEvent =
  | { readonly type: 'messages'; readonly data: MessagesEvent }
  | { readonly type: 'receipts'; readonly data: ReceiptsEvent }
  | { readonly type: 'heartbeat'; readonly data: HeartbeatEvent }

/** Why a stream ends: its time is over, the server restarts, the reader is too slow, or the agent may not listen. */
export type StreamEnd = 'over' | 'restart' | 'slow' | Fault

/** Where a stream's events go: one connection. */
export interface Outlet {
  /** `flushed` is called once, with whether the bytes were handed to the operating system. */
  send(event: StreamEvent, flushed: (ok: boolean) => void): void
  readonly unsentBytes: number
  end(why: StreamEnd): void
  /** Called every second: what the connection itself has to watch. False: it is dead. */
  isAlive?(nowMs: number): boolean
}

const pageMessages = 50
const pageBytes = 256 * 1024
const stallMs = 10_000

export class InboxStream implements Ticking {
  readonly #context: Context
  readonly #caller: AgentCaller
  readonly #outlet: Outlet
  readonly #endsAtMs: number
  readonly #undo: (() => void)[] = []
  #lastSentMs: number
  #nextDue: Date | undefined
  #unflushedSinceMs: number | undefined
  #pumping = false
  #again = false
  #ended = false

  private constructor(context: Context, caller: AgentCaller, outlet: Outlet, seconds: number) {
    this.#context = context
    this.#caller = caller
    this.#outlet = outlet
    this.#lastSentMs = context.monotonicMs()
    this.#endsAtMs = this.#lastSentMs + seconds * 1000
  }

  /** @throws what admission says, wait_limit, capacity_reached; then the outlet was not touched. */
  static async open(
    context: Context,
    caller: AgentCaller,
    stream: { readonly seconds: number; outlet(sessionId: string): Outlet },
  ): Promise<InboxStream> {
    const first = await readInbox(context, caller, pageMessages)
    const { agent_id, session } = first.agent
    const closeWait = context.presence.openWait(agent_id, session.id)
    try {
      const opened = new InboxStream(context, caller, stream.outlet(session.id), stream.seconds)
      opened.#undo.push(
        closeWait,
        context.wakeups.subscribe(agent_id, () => opened.#wake()),
        context.receipts.subscribe(agent_id, (receipts) => opened.#receipts(receipts)),
        context.streams.add(opened),
      )
      // Between the first read and the subscription something may have been stored: read again.
      opened.#wake()
      return opened
    } catch (error) {
      closeWait()
      throw error
    }
  }

  tick(nowMs: number): void {
    if (this.#ended) return
    const stalled = this.#unflushedSinceMs !== undefined && nowMs - this.#unflushedSinceMs > stallMs
    if (nowMs >= this.#endsAtMs) this.end('over')
    else if (stalled || this.#outlet.isAlive?.(nowMs) === false) this.end('slow')
    else this.#attend(nowMs)
  }

  #attend(nowMs: number): void {
    if (this.#nextDue !== undefined && this.#nextDue <= this.#context.clock()) this.#wake()
    if (nowMs - this.#lastSentMs >= limits.heartbeatSeconds * 1000) {
      this.#send({ type: 'heartbeat', data: { server_time: this.#context.clock().toISOString() } })
    }
  }

  stop(): void {
    this.end('restart')
  }

  /** The connection closed by itself. */
  closed(): void {
    if (this.#ended) return
    this.#ended = true
    for (const undo of this.#undo.splice(0)) undo()
  }

  end(why: StreamEnd): void {
    if (this.#ended) return
    this.closed()
    this.#outlet.end(why)
  }

  #receipts(receipts: readonly Receipt[]): void {
    this.#send({ type: 'receipts', data: { receipts: [...receipts] } })
  }

  #wake(): void {
    this.#again = true
    if (this.#pumping || this.#ended) return
    this.#pumping = true
    this.#pump()
      .catch((error: unknown) => this.end(toFault(error)))
      .finally(() => {
        this.#pumping = false
      })
  }

  async #pump(): Promise<void> {
    while (this.#again && !this.#ended) {
      this.#again = false
      const read = await readInbox(this.#context, this.#caller, pageMessages)
      if (this.#ended) return
      this.#nextDue = read.nextDueAt
      if (read.page.messages.length > 0) await this.#push(cut(read))
    }
  }

  /** Resolves when the reader may be given more. */
  async #push(read: InboxRead): Promise<void> {
    const settle = holdOffer(this.#context, read)
    this.#again ||= read.page.has_more
    const flushed = new Promise<boolean>((resolve) => {
      this.#send({ type: 'messages', data: { messages: read.page.messages } }, resolve)
    })
    const settled = flushed.then(settle)
    settled.catch((error: unknown) => this.#context.log.error({ err: error }, 'an offer was not recorded'))
    if (this.#again) await flushed
  }

  #send(event: StreamEvent, told?: (ok: boolean) => void): void {
    if (this.#ended) {
      told?.(false)
      return
    }
    const now = this.#context.monotonicMs()
    this.#lastSentMs = now
    this.#unflushedSinceMs ??= now
    this.#outlet.send(event, (ok) => {
      if (this.#outlet.unsentBytes === 0) this.#unflushedSinceMs = undefined
      told?.(ok)
    })
    if (this.#outlet.unsentBytes > limits.streamBufferBytes) this.end('slow')
  }
}

/** As many messages of a page as stay within the bytes of one event; at least one. */
function cut(read: InboxRead): InboxRead {
  let bytes = 0
  const messages: OfferedMessage[] = []
  for (const message of read.page.messages) {
    bytes += Buffer.byteLength(message.body) + 1024
    if (messages.length > 0 && bytes > pageBytes) break
    messages.push(message)
  }
  const has_more = read.page.has_more || messages.length < read.page.messages.length
  return { ...read, page: { ...read.page, messages, has_more } }
}
