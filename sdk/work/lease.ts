/**
 * Keeping a claim while a handler works.
 *
 * - Renewed at a third of the lease. While the node is away it is tried more often, until the lease has really run out, or
 *   leaves no more time than the handler needs to stop.
 * - A wait at the node hears of a cancellation at once, and of a session or credential that is over; each renewal tells of
 *   both too.
 *
 * Contract §8, §12 `task run`.
 */

import type { Task } from '../contract/agent/tasks.ts'
import { limits } from '../contract/limits.ts'
import { BridgeError } from '../transport/failures.ts'
import { isTemporary } from '../transport/temporary.ts'
import type { TaskCalls } from './calls.ts'
import { type StopReason, WorkStoppedError } from './work.ts'

export interface LeaseParts {
  readonly tasks: Pick<TaskCalls, 'list' | 'renew'>
  readonly monotonicMs: () => number
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
  readonly stopWithinMs: number
}

/** Beside a listener and another worker there is no place to wait; then the renewals alone tell. */
const noPlaceMs = 5_000
/** The work begins before anything else is asked; many a task is over by then, and needs no wait. */
const settledMs = 50
const awayMs = 1_000

export class Lease {
  readonly #parts: LeaseParts
  readonly #task: Task
  readonly #stop = new AbortController()
  readonly #done = new AbortController()
  #renewedMs: number

  /** `claimedMs` is when the claim was asked for: the lease began no earlier. */
  constructor(parts: LeaseParts, task: Task, claimedMs: number) {
    this.#parts = parts
    this.#task = task
    this.#renewedMs = claimedMs
    if (task.state === 'cancel_requested') this.stop('cancelled')
    void this.#renewing()
  }

  /** Aborted when the work has to stop. */
  get signal(): AbortSignal {
    return this.#stop.signal
  }

  get why(): StopReason | undefined {
    const { reason } = this.#stop.signal as { reason: unknown }
    return reason instanceof WorkStoppedError ? reason.why : undefined
  }

  stop(why: StopReason): void {
    if (!this.#stop.signal.aborted) this.#stop.abort(new WorkStoppedError(why))
    // Whoever confirms a stop must still hold the claim, so renewing goes on until the handler has ended.
    if (why === 'claim_lost') this.end()
  }

  /** The handler has ended: nothing is renewed any more. */
  end(): void {
    this.#done.abort()
  }

  /** From a renewal on, when it is the last one that came through. */
  get #keptMs(): number {
    return this.#leaseMs - Math.min(this.#parts.stopWithinMs, this.#leaseMs / 3)
  }

  get #leaseMs(): number {
    return this.#task.claim_ttl_seconds * 1000
  }

  async #renewing(): Promise<void> {
    const { monotonicMs, tasks } = this.#parts
    let pause = this.#leaseMs / 3 - (monotonicMs() - this.#renewedMs)
    while (await this.#pause(pause)) {
      const askedMs = monotonicMs()
      try {
        const { state } = await tasks.renew(this.#task, {
          signal: this.#done.signal,
          timeoutMs: this.#leaseMs / 6,
        })
        this.#renewedMs = askedMs
        pause = this.#leaseMs / 3
        if (state === 'cancel_requested') this.stop('cancelled')
      } catch (error) {
        if (this.#done.signal.aborted) return
        const isOver = monotonicMs() - this.#renewedMs >= this.#keptMs
        if (isOver || !isTemporary(error, 'claim')) return this.stop('claim_lost')
        pause = Math.min(awayMs, this.#leaseMs / 10)
      }
    }
  }

  /** Hears of what ends the work early, as long as it goes on. */
  async watch(): Promise<void> {
    const { tasks } = this.#parts
    const { signal } = this.#done
    await this.#pause(settledMs)
    while (!signal.aborted && this.why === undefined) {
      try {
        const query = { state: 'cancel_requested', role: 'assignee', limit: limits.pageMax } as const
        const page = await tasks.list({ ...query, waitSeconds: limits.inboxWaitSeconds, signal })
        if (page.tasks.some(({ id }) => id === this.#task.id)) return this.stop('cancelled')
        // Another task of this agent is to stop: that one would be told again and again.
        if (page.tasks.length > 0 && !(await this.#pause(awayMs))) return
      } catch (error) {
        if (signal.aborted) return
        if (error instanceof BridgeError && !isTemporary(error, 'claim')) return this.stop('claim_lost')
        const isFull = error instanceof BridgeError && error.code === 'wait_limit'
        if (!(await this.#pause(isFull ? noPlaceMs : awayMs))) return
      }
    }
  }

  /** False when there is nothing to wait for any more. */
  async #pause(ms: number): Promise<boolean> {
    const { signal } = this.#done
    await this.#parts.sleep(Math.max(0, ms), signal).catch(() => {})
    return !signal.aborted
  }
}
