/**
 * Which transport is used now: the first one of the order that is not barred.
 *
 * - A transport that failed twice in a row, so that it may be its own fault, is barred; at once when what stands between
 *   answered in place of the node.
 * - It comes back by itself after a minute, then two, up to half an hour. The first failure after that bars it again.
 * - When all are barred, the last one is used: it needs least of what stands between.
 *
 * Contract §12 `listen`: "it picks socket, then SSE, then long-poll, and falls back by itself".
 */

import { backoff } from '../transport/retry.ts'

/** In the order in which they are picked. */
export const listenTransports = ['socket', 'sse', 'long-poll'] as const
/** A way to hear of messages. */
export type ListenTransport = (typeof listenTransports)[number]

const strikesUntilBarred = 2
const bars = { firstMs: 60_000, longestMs: 1_800_000 } as const

interface Standing {
  strikes: number
  barredUntilMs: number
  /** How often it was barred in a row. */
  bars: number
}

const spotless = (): Standing => ({
  strikes: 0,
  barredUntilMs: Number.NEGATIVE_INFINITY,
  bars: 0,
})

export class TransportChoice {
  readonly #order: readonly ListenTransport[]
  readonly #monotonicMs: () => number
  readonly #standings = new Map<ListenTransport, Standing>()

  /** @throws TypeError when there is nothing to choose from. */
  constructor(order: readonly ListenTransport[], monotonicMs: () => number) {
    if (order.length === 0) throw new TypeError('listening needs at least one transport')
    this.#order = order
    this.#monotonicMs = monotonicMs
  }

  pick(): ListenTransport {
    const usable = this.#order.find((transport) => !this.#isBarred(transport))
    return usable ?? this.#order.at(-1) ?? 'long-poll'
  }

  /** Whether none is left that has not failed. */
  get isExhausted(): boolean {
    return this.#order.every((transport) => this.#isBarred(transport))
  }

  /** It did what it is for. */
  proved(transport: ListenTransport): void {
    this.#standings.set(transport, spotless())
  }

  /** It failed, and nothing says that the node is away. */
  suspect(transport: ListenTransport): void {
    const standing = this.#standing(transport)
    standing.strikes += 1
    if (standing.strikes >= strikesUntilBarred) this.bar(transport)
  }

  /** It does not get through. */
  bar(transport: ListenTransport): void {
    const standing = this.#standing(transport)
    standing.strikes = strikesUntilBarred - 1
    standing.bars += 1
    standing.barredUntilMs = this.#monotonicMs() + backoff(standing.bars, bars)
  }

  #isBarred(transport: ListenTransport): boolean {
    return this.#monotonicMs() < this.#standing(transport).barredUntilMs
  }

  #standing(transport: ListenTransport): Standing {
    const known = this.#standings.get(transport) ?? spotless()
    this.#standings.set(transport, known)
    return known
  }
}
