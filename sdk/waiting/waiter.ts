/** One wait of a caller, for an answer or for the end of a task. See watch.ts. */
import type { Message } from '../contract/agent/messages.ts'
import { isTemporary } from '../transport/temporary.ts'

/** Expected result of a wait: how to find it, and work to do on it. */
export interface Awaited<T> {
  /** The result as the node has it now, undefined before there is one. */
  look(signal: AbortSignal): Promise<T | undefined>
  /** A message of the inbox as evidence: the result, a reason to {@link look}, or undefined for neither. */
  tells(message: Message): { readonly result: T } | 'look' | undefined
  /** Work on the result before the wait resolves. A listener does not get a message that has such work. */
  finish?(result: T): Promise<void>
}

export class Waiter<T> {
  /** True if the node may have the result. */
  isDue = false
  readonly #awaited: Awaited<T>
  readonly #onConnection: ((away: Error | undefined) => void) | undefined
  readonly #end = Promise.withResolvers<T>()
  readonly #over = new AbortController()
  #isAway = false
  #isOver = false

  constructor(awaited: Awaited<T>, onConnection: ((away: Error | undefined) => void) | undefined) {
    this.#awaited = awaited
    this.#onConnection = onConnection
    // A failure after the race is handled too.
    this.#end.promise.catch(() => {})
  }

  /** Whether the result or the failure is known. `finish` may still run. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** @throws a failure that waiting longer cannot help */
  get result(): Promise<T> {
    return this.#end.promise
  }

  /** True if the message is the result and no listener may get it. */
  takes(message: Message): boolean {
    const told = this.#awaited.tells(message)
    if (told === 'look') this.isDue = true
    if (told === undefined || told === 'look') return false
    this.#found(told.result)
    return this.#awaited.finish !== undefined
  }

  /** Ask the node. @throws a failure that may pass; the waiter is due again then */
  async look(): Promise<void> {
    this.isDue = false
    if (this.#isOver) return
    try {
      const found = await this.#awaited.look(this.#over.signal)
      this.connected(undefined)
      if (found !== undefined) this.#found(found)
    } catch (error) {
      if (this.#over.signal.aborted) return
      if (!isTemporary(error, 'reading')) return this.fail(error)
      this.isDue = true
      throw error
    }
  }

  fail(error: unknown): void {
    this.#isOver = true
    this.#end.reject(error)
  }

  #found(result: T): void {
    this.#isOver = true
    this.#end.resolve(result)
  }

  /** Reports once when the node becomes unreachable, and once when it is reachable again. */
  connected(away: Error | undefined): void {
    if (this.#isAway === (away !== undefined)) return
    this.#isAway = away !== undefined
    try {
      this.#onConnection?.(away)
    } catch (error) {
      this.fail(error)
    }
  }

  /** Ends the waiter: the caller no longer waits. */
  leave(): void {
    this.#over.abort()
  }
}
