/**
 * Pushes the inbox: the common part of event stream and socket.
 *
 * - `open` spends the nonce and checks admission.
 * - The stream then pushes pages until there are no new messages.
 * - It then sleeps until a wake-up, a due redelivery or the end.
 *
 * Every read checks admission, so a stream ends with the reason as soon as the agent loses access. If a
 * notice arrives during a read, the page is discarded and read again. A reader that is behind when access is
 * lost is disconnected, and its unsent bytes are discarded, so nothing is delivered afterwards.
 *
 * Buffering is bounded: the next page waits until the last one was flushed, and a stream is closed if more
 * than 1 MiB is unsent or nothing was flushed for ten seconds.
 *
 * Contract §6.
 */
import type {
  HeartbeatEvent,
  MessagesEvent,
  Receipt,
  ReceiptsEvent,
} from '../../sdk/contract/agent/events.ts'
import { limits } from '../../sdk/contract/limits.ts'
import { ApiError } from '../api-error.ts'
import type { Context } from '../context.ts'
import type { Ticking } from '../delivery/streams.ts'
import { toApiError } from '../http/errors.ts'
import { readAs } from '../identity/admission.ts'
import type { AgentCaller } from '../identity/callers.ts'
import { type InboxRead, readInbox } from './actions.ts'

export type StreamEvent =
  | { readonly type: 'messages'; readonly data: MessagesEvent }
  | { readonly type: 'receipts'; readonly data: ReceiptsEvent }
  | { readonly type: 'heartbeat'; readonly data: HeartbeatEvent }

/**
 * Why a stream ends: its time has passed or its client left, the server stops, the reader is too slow, or the
 * agent lost access.
 */
export type StreamEnd = 'finished' | 'restart' | 'slow' | ApiError

/** The connection that a stream's events are sent to. */
export interface Outlet {
  /** `flushed` is called once, with whether the bytes were handed to the operating system. */
  send(event: StreamEvent, flushed: (ok: boolean) => void): void
  readonly unsentBytes: number
  end(reason: StreamEnd): void
  /** Checks the connection itself. Called every second; false if the connection is dead. */
  isAlive?(nowMs: number): boolean
}

const page = { messages: 50, bytes: 256 * 1024 }
const stallMs = 10_000
/** A reader with bytes unflushed for longer than this is behind. */
const behindMs = 250

export class InboxStream implements Ticking {
  readonly #context: Context
  readonly #caller: AgentCaller
  readonly #outlet: Outlet
  readonly #endsAtMs: number
  readonly #cleanups: (() => void)[] = []
  #lastSentMs: number
  /** Callbacks of sent events whose flush the connection has not reported yet. */
  readonly #inFlight = new Set<(ok: boolean) => void>()
  #nextDue: Date | undefined
  #unflushedSinceMs: number | undefined
  #pumping = false
  #readAgain = false
  /** A page was sent and is not flushed. Until it is, a wake-up checks admission only and reads nothing. */
  #blocked = false
  #checking = false
  #checkAgain = false
  /** Receipts that have not been sent. */
  readonly #untold: Receipt[] = []
  #telling = false
  #hasRead = false
  #ended = false

  private constructor(context: Context, caller: AgentCaller, outlet: Outlet, seconds: number) {
    this.#context = context
    this.#caller = caller
    this.#outlet = outlet
    this.#lastSentMs = context.monotonicMs()
    this.#endsAtMs = this.#lastSentMs + seconds * 1000
  }

  /** @throws the error of admission, wait_limit, capacity_reached; the outlet is not used in that case */
  static async open(
    context: Context,
    caller: AgentCaller,
    stream: {
      readonly seconds: number
      readonly transport: 'event_stream' | 'socket'
      outlet(sessionId: string): Outlet
    },
  ): Promise<InboxStream> {
    const agent = await readAs(context, caller, async (_db, admitted) => admitted, { alone: [] })
    const { agent_id, session } = agent
    const closeWait = context.presence.openWait(agent, stream.transport)
    try {
      const opened = new InboxStream(context, caller, stream.outlet(session.id), stream.seconds)
      opened.#cleanups.push(
        closeWait,
        context.wakeups.subscribe(agent_id, () => opened.#wake()),
        context.receipts.subscribe(agent_id, (receipts) => void opened.#receipts(receipts)),
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
    if (nowMs >= this.#endsAtMs) this.end('finished')
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

  /** Called when the connection has closed: events that were not flushed by now never will be. */
  closed(): void {
    this.#leave()
    for (const settle of [...this.#inFlight]) settle(false)
  }

  end(reason: StreamEnd): void {
    if (this.#ended) return
    this.#leave()
    this.#outlet.end(reason instanceof ApiError && this.#isBehind() ? 'slow' : reason)
  }

  #leave(): void {
    this.#ended = true
    for (const cleanUp of this.#cleanups.splice(0)) cleanUp()
  }

  #isBehind(): boolean {
    const since = this.#unflushedSinceMs
    return since !== undefined && this.#context.monotonicMs() - since > behindMs
  }

  #isFull(): boolean {
    return this.#outlet.unsentBytes > limits.streamBufferBytes
  }

  /** Another node may have ended the access, so the receipts are sent only after a check. */
  async #receipts(receipts: readonly Receipt[]): Promise<void> {
    this.#untold.push(...receipts)
    if (this.#telling) return
    this.#telling = true
    try {
      while (this.#untold.length > 0 && !this.#ended) {
        const told = this.#untold.splice(0)
        await this.#requireAccess()
        this.#send({ type: 'receipts', data: { receipts: told } })
      }
    } catch (error) {
      this.end(toApiError(error))
    } finally {
      this.#telling = false
    }
  }

  /** @throws the error of admission */
  #requireAccess(): Promise<void> {
    return readAs(this.#context, this.#caller, async () => undefined)
  }

  #wake(): void {
    this.#readAgain = true
    if (this.#ended) return
    if (this.#blocked) void this.#checkAdmission()
    if (!this.#pumping) void this.#pump()
  }

  /**
   * While the reader is behind, the next read may be far off. This ends the stream if the agent has lost
   * access.
   */
  async #checkAdmission(): Promise<void> {
    // A check under way may not see the change that this notice is about.
    this.#checkAgain = true
    if (this.#checking) return
    this.#checking = true
    try {
      while (this.#checkAgain && !this.#ended) {
        this.#checkAgain = false
        await this.#requireAccess()
      }
    } catch (error) {
      this.end(toApiError(error))
    } finally {
      this.#checking = false
    }
  }

  async #pump(): Promise<void> {
    this.#pumping = true
    try {
      while (this.#readAgain && !this.#ended) {
        this.#readAgain = false
        const read = await readInbox(this.#context, this.#caller, page)
        if (this.#ended) return await read.settle(false)
        // A notice arrived during the read, perhaps because access was lost, so the page must not be sent.
        if (this.#readAgain) read.drop()
        else await this.#take(read)
      }
    } catch (error) {
      this.end(toApiError(error))
    } finally {
      // No await since the loop looked: a notice in between would find neither the loop nor an idle stream.
      this.#pumping = false
    }
  }

  async #take(read: InboxRead): Promise<void> {
    this.#nextDue = this.#dueAfter(read)
    this.#hasRead = true
    if (read.page.messages.length > 0) await this.#push(read)
  }

  /**
   * A non-empty page does not say when earlier offers are due. If a later time is known, it is kept.
   * Otherwise the next check is in a second, or after the redelivery interval if nothing had been offered
   * before.
   */
  #dueAfter({ page: { messages }, at, nextDueAt }: InboxRead): Date | undefined {
    if (messages.length === 0) return nextDueAt
    const known = this.#nextDue
    if (known !== undefined && known > at) return known
    const nothingWasOffered = this.#hasRead && known === undefined
    return new Date(at.getTime() + (nothingWasOffered ? limits.redeliverySeconds : 1) * 1000)
  }

  /** Resolves when the page has been flushed, so that the reader may be sent more. */
  async #push(read: InboxRead): Promise<void> {
    this.#readAgain ||= read.page.has_more
    const flushed = new Promise<boolean>((resolve) => {
      this.#send({ type: 'messages', data: { messages: read.page.messages } }, resolve)
    })
    const settled = flushed.then((ok) => read.settle(ok))
    settled.catch((error: unknown) =>
      this.#context.log.error(
        { err: error, request_id: this.#caller.request_id },
        'failed to record an offer',
      ),
    )
    this.#blocked = true
    await flushed
    this.#blocked = false
  }

  #send(event: StreamEvent, onFlushed?: (ok: boolean) => void): void {
    if (this.#ended) {
      onFlushed?.(false)
      return
    }
    const now = this.#context.monotonicMs()
    this.#lastSentMs = now
    this.#unflushedSinceMs ??= now
    const once = (ok: boolean) => {
      if (!this.#inFlight.delete(once)) return
      if (this.#outlet.unsentBytes === 0) this.#unflushedSinceMs = undefined
      onFlushed?.(ok)
    }
    this.#inFlight.add(once)
    this.#outlet.send(event, once)
    if (this.#isFull()) this.end('slow')
  }
}
