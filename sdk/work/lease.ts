/**
 * Lease of a claim: it is renewed while a handler works, and stops the handler if the claim is lost or
 * cancelled.
 *
 * - It renews after a third of the lease. If the node is unreachable, it retries at least once per second,
 *   until the remaining lease is only as long as the handler needs to stop. A call that is open then is ended.
 * - A long-poll notices a cancellation, and the end of the session or credential, immediately. Each renewal
 *   notices them too.
 * - A holder without a long-poll reads the task between two renewals instead (`check`).
 *
 * Contract §8, §12 `task run`.
 */

import type { Task } from '../contract/agent/tasks.ts'
import { limits } from '../contract/limits.ts'
import { BridgeError } from '../transport/failures.ts'
import type { CallOptions } from '../transport/http.ts'
import { isTemporary } from '../transport/temporary.ts'
import type { TaskCalls } from './calls.ts'
import { type StopReason, WorkStoppedError } from './work.ts'

export interface LeaseParts {
  readonly tasks: Pick<TaskCalls, 'list' | 'renew'>
  readonly monotonicMs: () => number
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
  readonly stopWithinMs: number
  /** Lifetime of the claim, that of a worker's by default. */
  readonly leaseMs?: number
  /** Read between renewals. If it is absent, only renewals and {@link Lease.watch} notice an end. */
  readonly check?: {
    readonly everyMs: number
    readonly isHeld: (options: CallOptions) => Promise<boolean>
  }
}

/**
 * Pause if the session has no free long-poll, as beside a listener and another worker. Until then the
 * renewals notice a cancellation.
 */
const noPlaceMs = 5_000
/** Delay before the long-poll starts. Many tasks have ended by then and need none. */
const settledMs = 50
const awayMs = 1_000

/** Returns the lifetime of a worker's claim. The node uses the shorter one of the worker's and the task's. */
export const leaseMsOf = ({ claim_ttl_seconds }: Pick<Task, 'claim_ttl_seconds'>): number =>
  Math.min(claim_ttl_seconds, limits.workerClaimTtlSeconds) * 1000

/**
 * Returns the lifetime of a claim from the answer to its renewal: the claim may be shorter than its task, and only its
 * end shows that. Both times are the node's, so this machine's clock does not matter.
 */
export function renewedLeaseMsOf(task: Task): number {
  const ms = Date.parse(task.claim?.expires_at ?? '') - Date.parse(task.updated_at)
  return ms > 0 ? Math.min(ms, leaseMsOf(task)) : leaseMsOf(task)
}

export class Lease {
  readonly #parts: LeaseParts
  readonly #task: Task
  readonly #stop = new AbortController()
  readonly #done = new AbortController()
  #renewedMs: number
  #refusal: unknown

  /** `claimedMs` is the time at which the claim was requested. The lease began then or later. */
  constructor(parts: LeaseParts, task: Task, claimedMs: number) {
    this.#parts = parts
    this.#task = task
    this.#renewedMs = claimedMs
    if (task.state === 'cancel_requested') this.stop('cancelled')
    void this.#renewing()
    void this.#ending()
  }

  /** Aborted when the handler has to stop. */
  get signal(): AbortSignal {
    return this.#stop.signal
  }

  get why(): StopReason | undefined {
    const { reason } = this.#stop.signal as { reason: unknown }
    return reason instanceof WorkStoppedError ? reason.why : undefined
  }

  /** The refusal by which the claim was lost. Undefined if it expired, or if the node shows another claim. */
  get refusal(): unknown {
    return this.#refusal
  }

  stop(why: StopReason): void {
    if (!this.#stop.signal.aborted) this.#stop.abort(new WorkStoppedError(why))
    // To confirm a stop, the worker must still hold the claim, so it keeps renewing until the handler has ended.
    if (why === 'claim_lost') this.end()
  }

  /** Aborted when it renews no more: after {@link end}, or when the claim was lost. */
  get over(): AbortSignal {
    return this.#done.signal
  }

  /** Stops renewing, after the handler has ended. */
  end(): void {
    this.#done.abort()
  }

  /** Time after the last successful renewal at which the claim is given up. */
  get #keptMs(): number {
    return this.#leaseMs - Math.min(this.#parts.stopWithinMs, this.#leaseMs / 3)
  }

  get #leftMs(): number {
    return this.#renewedMs + this.#keptMs - this.#parts.monotonicMs()
  }

  get #leaseMs(): number {
    return this.#parts.leaseMs ?? leaseMsOf(this.#task)
  }

  /** Time limit of one renewal. */
  get #attemptMs(): number {
    return this.#leaseMs / 6
  }

  /** Gives the claim up at its end, also while a renewal or a read waits in a silent network. */
  async #ending(): Promise<void> {
    // A claim that is already old gets one renewal.
    let leftMs = Math.max(this.#leftMs, this.#attemptMs)
    while (leftMs > 0) {
      if (!(await this.#pause(leftMs))) return
      leftMs = this.#leftMs
    }
    this.#lose(undefined)
  }

  async #renewing(): Promise<void> {
    const { monotonicMs, check } = this.#parts
    const checkMs = check?.everyMs ?? Number.POSITIVE_INFINITY
    let dueMs = this.#renewedMs + this.#leaseMs / 3
    for (;;) {
      const untilDueMs = dueMs - monotonicMs()
      const isDue = untilDueMs <= checkMs
      if (!(await this.#pause(isDue ? untilDueMs : checkMs))) return
      if (!isDue) await this.#check()
      else dueMs = await this.#renewed()
      if (this.#done.signal.aborted) return
    }
  }

  /** Renews once. Returns the time of the next renewal. */
  async #renewed(): Promise<number> {
    const { monotonicMs, tasks } = this.#parts
    const askedMs = monotonicMs()
    try {
      const { state } = await tasks.renew(this.#task, {
        signal: this.#done.signal,
        timeoutMs: this.#attemptMs,
      })
      this.#renewedMs = askedMs
      if (state === 'cancel_requested') this.stop('cancelled')
      return monotonicMs() + this.#leaseMs / 3
    } catch (error) {
      const isOver = this.#leftMs <= 0
      if (!this.#done.signal.aborted && (isOver || !isTemporary(error, 'claim'))) this.#lose(error)
      return monotonicMs() + Math.min(awayMs, this.#leaseMs / 10)
    }
  }

  /** Reads the task. If the read gets no answer, the next renewal decides. */
  async #check(): Promise<void> {
    const { check } = this.#parts
    const { signal } = this.#done
    try {
      if ((await check?.isHeld({ signal, timeoutMs: check.everyMs })) === false) this.stop('claim_lost')
    } catch (error) {
      if (!signal.aborted && !isTemporary(error, 'claim')) this.#lose(error)
    }
  }

  #lose(error: unknown): void {
    if (error instanceof BridgeError && !isTemporary(error, 'claim')) this.#refusal = error
    this.stop('claim_lost')
  }

  /** Waits with a long-poll for a cancellation, or the loss of the claim, until the handler has ended. */
  async watch(): Promise<void> {
    const { tasks } = this.#parts
    const { signal } = this.#done
    await this.#pause(settledMs)
    while (!signal.aborted && this.why === undefined) {
      try {
        const query = { state: 'cancel_requested', role: 'assignee', limit: limits.pageMax } as const
        const page = await tasks.list({ ...query, waitSeconds: limits.inboxWaitSeconds, signal })
        if (page.tasks.some(({ id }) => id === this.#task.id)) return this.stop('cancelled')
        // Another task of this agent was cancelled: the node would return it again immediately.
        if (page.tasks.length > 0 && !(await this.#pause(awayMs))) return
      } catch (error) {
        if (signal.aborted) return
        if (error instanceof BridgeError && !isTemporary(error, 'claim')) return this.stop('claim_lost')
        const isFull = error instanceof BridgeError && error.code === 'wait_limit'
        if (!(await this.#pause(isFull ? noPlaceMs : awayMs))) return
      }
    }
  }

  /** Pauses. Returns false if the handler has ended. */
  async #pause(ms: number): Promise<boolean> {
    const { signal } = this.#done
    await this.#parts.sleep(Math.max(0, ms), signal).catch(() => {})
    return !signal.aborted
  }
}
