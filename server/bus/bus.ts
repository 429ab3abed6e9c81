/**
 * Tells the other nodes of the database what a commit changed, so that their waits, streams and views read
 * again. An entry carries no data that decides anything: the database has the truth, and a lost entry is a
 * delay.
 *
 * States of the bus:
 *
 * - `polled`: notifications do not arrive, so the node asks the database every 250 ms. It begins here, and
 *   returns here if the connection ends or a pooler swallows notifications. It tests again after 1, 2, 4 … 60
 *   seconds.
 * - `notified`: a notification from another connection has arrived. The node pings itself every 1.5 seconds. If
 *   a ping has not come back when the second one after it is due, the node drops the connection and opens
 *   another one. So it notices within five seconds that notifications have stopped.
 *
 * The log names each cause once until notifications arrive again.
 *
 * Entries are collected after the commit and sent at most every 2 ms, on a connection of the bus.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import type { Channel, ChannelConnection } from '../database/channel.ts'
import { Outage } from '../outage.ts'
import { type Batch, Outbox, readBatch } from './batch.ts'
import { delayMs, type Entries, type Topic } from './entries.ts'

export type PeersMode = 'none' | 'notified' | 'polled'

export interface Teller {
  /** Tells the other nodes. Must be called after the commit. */
  tell<T extends Topic>(topic: T, entry: Entries[T]): void
}

export type Hearing<T extends Topic> = (entry: Entries[T], from: string) => void

export interface Bus extends Teller {
  /** Calls `listener` with each entry of the topic and the id of the node that told it. */
  hear<T extends Topic>(topic: T, listener: Hearing<T>): void
  /** Calls `listener` after each interval in which entries may have been lost. */
  onGap(listener: () => void): void
  readonly mode: PeersMode
  /** Notifications since the start: sent by this node, and received from others. */
  readonly counts: { readonly sent: number; readonly received: number }
  start(): void
  close(): Promise<void>
}

/** The bus of a node that is alone, on SQLite. */
export const noBus: Bus = {
  tell() {},
  hear() {},
  onGap() {},
  mode: 'none',
  counts: { sent: 0, received: 0 },
  start() {},
  async close() {},
}

export interface BusOptions {
  readonly channel: Channel
  readonly monotonicMs: () => number
  readonly log: Pick<FastifyBaseLogger, 'info' | 'warn' | 'error'>
  readonly times?: Partial<BusTimes>
}

export interface BusTimes {
  readonly pingEveryMs: number
  /** A notification of the self-test must arrive within this time. */
  readonly testWithinMs: number
  /** Time until the first self-test after a failed one. It doubles with each further one. */
  readonly testAgainMs: number
  /** Longest interval between two self-tests while notifications do not arrive. */
  readonly testEveryMs: number
}

const usual: BusTimes = { pingEveryMs: 1500, testWithinMs: 1000, testAgainMs: 1000, testEveryMs: 60_000 }
/** By then the other nodes have removed one that stands still. */
const forgetsAfterMs = 15_000
const minIntervalMs = 2
const firstRetryMs = 100
const lastRetryMs = 2000
const longestCloseMs = 500
/** Beyond these entries, the other nodes read everything again. */
const maxEntries = 5000

export class NodeBus implements Bus {
  readonly #options: BusOptions
  readonly #times: BusTimes
  readonly #outbox: Outbox
  readonly #listeners = new Map<Topic, ((entry: never, from: string) => void)[]>()
  readonly #gapListeners: (() => void)[] = []
  /** When each other node was heard last. */
  readonly #peers = new Map<string, number>()
  /** Aborted when the bus closes. */
  readonly #closing = new AbortController()
  readonly #outage = new Outage()
  #retryMs = firstRetryMs
  #mode: PeersMode = 'polled'
  #connection: ChannelConnection | undefined
  #running: Promise<void> | undefined
  #ping = 0
  /** Number of the last own ping that came back. */
  #heardPing = 0
  #onPing = () => {}
  /** From then on a node that has heard no other is alone. */
  #knowsPeersAtMs = Number.POSITIVE_INFINITY
  #isSending = false
  /** Ends with the last notification that was given to the connection. */
  #sending: Promise<void> = Promise.resolve()
  #sentMs = Number.NEGATIVE_INFINITY
  #timer: NodeJS.Timeout | undefined
  #dueMs = Number.POSITIVE_INFINITY
  #hasLogged = false
  readonly counts = { sent: 0, received: 0 }

  constructor(options: BusOptions) {
    const { channel } = options
    this.#options = options
    this.#times = { ...usual, ...options.times }
    this.#outbox = new Outbox(channel.self, channel.maxBytes, maxEntries)
  }

  get mode(): PeersMode {
    return this.#mode
  }

  tell<T extends Topic>(topic: T, entry: Entries[T]): void {
    if (this.#isAlone()) return
    this.#outbox.add(topic, entry)
    this.#schedule(delayMs[topic])
  }

  hear<T extends Topic>(topic: T, listener: Hearing<T>): void {
    const known = this.#listeners.get(topic) ?? []
    this.#listeners.set(topic, [...known, listener])
  }

  onGap(listener: () => void): void {
    this.#gapListeners.push(listener)
  }

  start(): void {
    this.#running ??= this.#run()
  }

  /** Sends the entries that still wait, for half a second at most, and ends the connection. */
  async close(): Promise<void> {
    const late = sleep(longestCloseMs, undefined, { ref: false })
    await Promise.race([this.#sendRest(), late])
    this.#closing.abort()
    clearTimeout(this.#timer)
    this.#connection?.drop()
    // A connection that is being opened is dropped once it is open.
    await Promise.race([this.#running, sleep(longestCloseMs, undefined, { ref: false })])
  }

  #isAlone(): boolean {
    return (
      this.#mode === 'notified' &&
      this.#peers.size === 0 &&
      this.#options.monotonicMs() > this.#knowsPeersAtMs
    )
  }

  /** Connects again whenever the connection ends. */
  async #run(): Promise<void> {
    while (!this.#closing.signal.aborted) {
      try {
        const ended = Promise.withResolvers<void>()
        const connection = await this.#options.channel.connect({
          onPayload: (payload) => this.#receive(payload),
          onEnd: () => ended.resolve(),
        })
        await this.#use(connection, ended.promise)
      } catch (error) {
        this.#warn('cannot connect to hear other nodes, so this node asks the database every 250 ms', error)
      }
      this.#connection = undefined
      this.#mode = 'polled'
      await this.#pause(this.#retryMs)
      this.#retryMs = Math.min(lastRetryMs, this.#retryMs * 2)
    }
  }

  #warn(text: string, error?: unknown): void {
    if (this.#closing.signal.aborted || !this.#outage.isNew(error ?? text)) return
    this.#options.log.warn(error === undefined ? {} : { err: error }, text)
  }

  /** Uses a connection until it ends. */
  async #use(connection: ChannelConnection, ended: Promise<void>): Promise<void> {
    const { pingEveryMs, testAgainMs, testEveryMs } = this.#times
    this.#connection = connection
    let hasEnded = this.#closing.signal.aborted
    let testMs = Math.min(testAgainMs, testEveryMs)
    /** Numbers of the last ping and the one before. */
    let [last, earlier] = [0, 0]
    const end = ended.then(() => {
      hasEnded = true
      this.#warn('the connection that hears other nodes has ended')
    })
    try {
      while (!hasEnded) {
        if (this.#mode === 'polled') await this.#test(end)
        // The last ping may be late because the node or the database stood still.
        else if (this.#heardPing < earlier) return
        // Not before the test, which may fail on each new connection.
        this.#retryMs = firstRetryMs
        this.#sendPing()
        ;[last, earlier] = [this.#ping, last]
        await Promise.race([end, this.#pause(this.#mode === 'polled' ? testMs : pingEveryMs)])
        testMs = Math.min(testEveryMs, testMs * 2)
        this.#forgetPeers()
      }
    } finally {
      connection.drop()
    }
  }

  /** Tests with another connection whether notifications arrive. */
  async #test(end: Promise<void>): Promise<void> {
    const { log, channel, monotonicMs } = this.#options
    this.#ping += 1
    const number = this.#ping
    const heard = new Promise<void>((resolve) => {
      this.#onPing = () => {
        if (this.#heardPing >= number) resolve()
      }
    })
    const outbox = new Outbox(channel.self, channel.maxBytes, 1)
    outbox.addPing(number)
    for (const payload of outbox.take()) await channel.sendApart(payload)
    const outcome = await Promise.race([
      heard.then(() => 'heard' as const),
      end.then(() => 'ended' as const),
      this.#pause(this.#times.testWithinMs).then(() => 'silent' as const),
    ])
    if (this.#closing.signal.aborted || outcome === 'ended') return
    if (outcome === 'heard') {
      this.#mode = 'notified'
      this.#knowsPeersAtMs = monotonicMs() + this.#times.pingEveryMs + this.#times.testWithinMs
      this.#outage.end()
      log.info('notifications of other nodes arrive')
      this.#gap()
    } else {
      this.#warn(
        'notifications of other nodes do not arrive, so this node asks the database every 250 ms: a pooler or a standby stands in between; database_listen_url can name a direct way',
      )
    }
  }

  #sendPing(): void {
    this.#ping += 1
    this.#outbox.addPing(this.#ping)
    this.#schedule(0)
  }

  #forgetPeers(): void {
    const until = this.#options.monotonicMs() - forgetsAfterMs
    for (const [id, heardMs] of this.#peers) if (heardMs < until) this.#peers.delete(id)
  }

  #schedule(ms: number): void {
    const now = this.#options.monotonicMs()
    const dueMs = Math.max(now + ms, this.#sentMs + minIntervalMs)
    if (this.#isSending || dueMs >= this.#dueMs) return
    clearTimeout(this.#timer)
    this.#dueMs = dueMs
    // Entries of the commits that end in this turn of the event loop share a notification.
    if (dueMs <= now) setImmediate(() => this.#flush())
    else this.#timer = setTimeout(() => this.#flush(), dueMs - now).unref()
  }

  #flush(): void {
    this.#dueMs = Number.POSITIVE_INFINITY
    const connection = this.#connection
    if (this.#isSending || connection === undefined || this.#outbox.isEmpty) return
    this.#isSending = true
    this.#sentMs = this.#options.monotonicMs()
    const payloads = this.#outbox.take()
    this.counts.sent += payloads.length
    this.#sending = connection
      .send(payloads)
      .catch(() => {
        this.#outbox.loseEntries()
        connection.drop()
      })
      .finally(() => {
        this.#isSending = false
        if (!this.#outbox.isEmpty) this.#schedule(0)
      })
  }

  /** Sends the entries that wait for their time, or for the notification before them. */
  async #sendRest(): Promise<void> {
    await this.#sending
    this.#flush()
    await this.#sending
  }

  #receive(payload: string): void {
    try {
      this.#take(readBatch(payload))
    } catch (error) {
      if (this.#hasLogged) return
      this.#hasLogged = true
      this.#options.log.warn({ err: error }, 'ignored a notification that cannot be read')
    }
  }

  #take({ from, ping, everything, entries }: Batch): void {
    if (from === this.#options.channel.self) {
      if (ping !== undefined) this.#heardPing = Math.max(this.#heardPing, ping)
      this.#onPing()
      return
    }
    this.counts.received += 1
    // A node that has just started must know soon that it is not alone.
    if (!this.#peers.has(from) && this.#mode === 'notified') this.#sendPing()
    this.#peers.set(from, this.#options.monotonicMs())
    if (everything === true) this.#gap()
    for (const [topic, list] of Object.entries(entries))
      for (const listener of this.#listeners.get(topic as Topic) ?? [])
        for (const entry of list) listener(entry as never, from)
  }

  #gap(): void {
    for (const listener of this.#gapListeners) listener()
  }

  #pause(ms: number): Promise<void> {
    return sleep(ms, undefined, { signal: this.#closing.signal, ref: false }).catch(() => {})
  }
}
