/**
 * Choice of the transport for the next connection: the first one in the order that is not barred.
 *
 * States of a transport:
 * - Usable: it can be picked. Two failures in a row bar it. It is barred immediately if a proxy answered in
 *   the node's place or the node does not offer the transport.
 * - Barred: it is not picked for 1 minute, the next time for 2, up to 30 minutes. Then it can be picked
 *   again, and one more failure bars it. A success resets all counts.
 *
 * If all are barred, the last one in the order is used, which places the fewest demands on proxies.
 *
 * Contract §12 `listen`: "it picks socket, then SSE, then long-poll, and falls back by itself".
 */

import { backoff, pauses } from '../transport/retry.ts'

/** All transports, in the default order of preference. */
export const listenTransports = ['socket', 'sse', 'long-poll'] as const
/** Transport over which a listener receives messages. */
export type ListenTransport = (typeof listenTransports)[number]

const strikesUntilBarred = 2

interface Standing {
  strikes: number
  barredUntilMs: number
  /** Number of times that it was barred in a row. */
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

  /** @throws TypeError if the order is empty. */
  constructor(order: readonly ListenTransport[], monotonicMs: () => number) {
    if (order.length === 0) throw new TypeError('listening needs at least one transport')
    this.#order = order
    this.#monotonicMs = monotonicMs
  }

  pick(): ListenTransport {
    const usable = this.#order.find((transport) => !this.#isBarred(transport))
    return usable ?? this.#order.at(-1) ?? 'long-poll'
  }

  /** True if every transport is barred. */
  get isExhausted(): boolean {
    return this.#order.every((transport) => this.#isBarred(transport))
  }

  /** Resets the counts of a transport that worked. */
  proved(transport: ListenTransport): void {
    this.#standings.set(transport, spotless())
  }

  /** Counts a failure that may be the transport's. Two in a row bar it. */
  suspect(transport: ListenTransport): void {
    const standing = this.#standing(transport)
    standing.strikes += 1
    if (standing.strikes >= strikesUntilBarred) this.bar(transport)
  }

  /** Bars a transport, each time twice as long. */
  bar(transport: ListenTransport): void {
    const standing = this.#standing(transport)
    standing.strikes = strikesUntilBarred - 1
    standing.bars += 1
    standing.barredUntilMs = this.#monotonicMs() + backoff(standing.bars, pauses.barredTransport)
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
