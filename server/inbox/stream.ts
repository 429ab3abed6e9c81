/**
 * The inbox pushed: what the event stream and the socket have in common.
 *
 * Phases: `open` spends the nonce and asks for admission; then it pushes pages until nothing is new; then it sleeps
 * until a wake-up, a redelivery that falls due, or the end. Every read asks for admission again, and a page during whose
 * reading a notice came is read again, so a stream ends with its reason as soon as the agent may not listen any more,
 * and nothing leaks after: a reader that is behind by then is cut, together with what it has not taken.
 *
 * A reader that does not keep up is never buffered without bound: the next page waits until the last one was flushed,
 * and a stream is cut when more than 1 MiB is unsent or nothing was flushed for ten seconds.
 *
 * Contract §6.
 */
import type { HeartbeatEvent, MessagesEvent, Receipt, ReceiptsEvent } from '../../sdk/contract/events.ts'
import { limits } from '../../sdk/contract/limits.ts'
import { ApiError } from '../api-error.ts'
import type { Context } from '../context.ts'
import type { Ticking } from '../delivery/streams.ts'
import { toFault } from '../http/errors.ts'
import { readAs } from '../identity/admission.ts'
import type { AgentCaller } from '../identity/callers.ts'
import { type InboxRead, readInbox } from './actions.ts'

export type StreamEvent =
  | { readonly type: 'messages'; readonly data: MessagesEvent }
  | { readonly type: 'receipts'; readonly data: ReceiptsEvent }
  | { readonly type: 'heartbeat'; readonly data: HeartbeatEvent }

/** Why a stream ends: its time is over, the server restarts, the reader is too slow, or the agent may not listen. */
export type StreamEnd = 'over' | 'restart' | 'slow' | ApiError

/** Where a stream's events go: one connection. */
export interface Outlet {
  /** `flushed` is called once, with whether the bytes were handed to the operating system. */
  send(event: StreamEvent, flushed: (ok: boolean) => void): void
  readonly unsentBytes: number
  end(why: StreamEnd): void
  /** Called every second: what the connection itself has to watch. False: it is dead. */
  isAlive?(nowMs: number): boolean
}

const page = { messages: 50, bytes: 256 * 1024 }
const stallMs = 10_000
/** A reader that keeps up takes what it is given at once: one that has not by then is behind. */
const behindMs = 250

export class InboxStream implements Ticking {
  readonly #context: Context
  readonly #caller: AgentCaller
  readonly #outlet: Outlet
  readonly #endsAtMs: number
  readonly #undo: (() => void)[] = []
  #lastSentMs: number
  /** Those that were sent and of which the connection has not said what became of them. */
  readonly #travelling = new Set<(ok: boolean) => void>()
  #nextDue: Date | undefined
  #unflushedSinceMs: number | undefined
  #pumping = false
  #again = false
  /** A page is out and not flushed: nothing is read until it is, only the right to listen is asked. */
  #blocked = false
  #checking = false
  #looked = false
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
    stream: {
      readonly seconds: number
      readonly transport: 'event_stream' | 'socket'
      outlet(sessionId: string): Outlet
    },
  ): Promise<InboxStream> {
    const { agent_id, session } = await readAs(context, caller, async (_db, admitted) => admitted)
    const closeWait = context.presence.openWait(agent_id, session.id, stream.transport)
    try {
      const opened = new InboxStream(context, caller, stream.outlet(session.id), stream.seconds)
      opened.#undo.push(
        closeWait,
        context.wakeups.subscribe(agent_id, () => opened.#wake()),
        context.receipts.subscribe(agent_id, (receipts) => opened.#receipts(receipts)),
        context.streams.add(opened),
      )
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
    else if (stalled || this.#isFull() || this.#outlet.isAlive?.(nowMs) === false) this.end('slow')
    else this.#attend(nowMs)
  }

  #attend(nowMs: number): void {
    if (this.#nextDue !== undefined && this.#nextDue <= this.#context.steady.now()) this.#wake()
    if (nowMs - this.#lastSentMs >= limits.heartbeatSeconds * 1000) {
      this.#send({ type: 'heartbeat', data: { server_time: this.#context.clock().toISOString() } })
    }
  }

  stop(): void {
    this.end('restart')
  }

  /** The connection closed: what it has not said by now was flushed will never be. */
  closed(): void {
    this.#leave()
    for (const told of [...this.#travelling]) told(false)
  }

  end(why: StreamEnd): void {
    if (this.#ended) return
    this.#leave()
    this.#outlet.end(why instanceof ApiError && this.#isBehind() ? 'slow' : why)
  }

  #leave(): void {
    this.#ended = true
    for (const undo of this.#undo.splice(0)) undo()
  }

  #isBehind(): boolean {
    const since = this.#unflushedSinceMs
    return since !== undefined && this.#context.monotonicMs() - since > behindMs
  }

  #isFull(): boolean {
    return this.#outlet.unsentBytes > limits.streamBufferBytes
  }

  #receipts(receipts: readonly Receipt[]): void {
    this.#send({ type: 'receipts', data: { receipts: [...receipts] } })
  }

  #wake(): void {
    this.#again = true
    if (this.#ended) return
    if (this.#blocked) this.#checkRight()
    if (this.#pumping) return
    this.#pumping = true
    this.#pump()
      .catch((error: unknown) => this.end(toFault(error)))
      .finally(() => {
        this.#pumping = false
      })
  }

  /** While the reader is behind: a right that ended is not told by the next read, which may be far off. */
  #checkRight(): void {
    if (this.#checking) return
    this.#checking = true
    readAs(this.#context, this.#caller, async () => undefined)
      .catch((error: unknown) => this.end(toFault(error)))
      .finally(() => {
        this.#checking = false
      })
  }

  async #pump(): Promise<void> {
    while (this.#again && !this.#ended) {
      this.#again = false
      const read = await readInbox(this.#context, this.#caller, page)
      if (this.#ended) return read.settle(false)
      // A notice came while it was read, perhaps of a right that ended: what was read may not leave.
      if (this.#again) read.drop()
      else await this.#take(read)
    }
  }

  async #take(read: InboxRead): Promise<void> {
    this.#nextDue = this.#dueAfter(read)
    this.#looked = true
    if (read.page.messages.length > 0) await this.#push(read)
  }

  /** A page does not say when earlier offers fall due: what was known of them holds, or it is asked in a second. */
  #dueAfter({ page: { messages }, at, nextDueAt }: InboxRead): Date | undefined {
    if (messages.length === 0) return nextDueAt
    const known = this.#nextDue
    if (known !== undefined && known > at) return known
    const nothingWasOffered = this.#looked && known === undefined
    return new Date(at.getTime() + (nothingWasOffered ? limits.redeliverySeconds : 1) * 1000)
  }

  /** Resolves when the reader may be given more. */
  async #push(read: InboxRead): Promise<void> {
    this.#again ||= read.page.has_more
    const flushed = new Promise<boolean>((resolve) => {
      this.#send({ type: 'messages', data: { messages: read.page.messages } }, resolve)
    })
    const settled = flushed.then((ok) => read.settle(ok))
    settled.catch((error: unknown) =>
      this.#context.log.error(
        { err: error, request_id: this.#caller.request_id },
        'an offer was not recorded',
      ),
    )
    this.#blocked = true
    await flushed
    this.#blocked = false
  }

  #send(event: StreamEvent, told?: (ok: boolean) => void): void {
    if (this.#ended) {
      told?.(false)
      return
    }
    const now = this.#context.monotonicMs()
    this.#lastSentMs = now
    this.#unflushedSinceMs ??= now
    const once = (ok: boolean) => {
      if (!this.#travelling.delete(once)) return
      if (this.#outlet.unsentBytes === 0) this.#unflushedSinceMs = undefined
      told?.(ok)
    }
    this.#travelling.add(once)
    this.#outlet.send(event, once)
    if (this.#isFull()) this.end('slow')
  }
}
