/**
 * Handler, options, events and results of `bridge.tasks.work(handler)`.
 *
 * Contract §8, §12 `task run`, §13.
 */
import type { Evidence, Task } from '../contract/agent/tasks.ts'
import type { CallOptions } from '../transport/http.ts'

/** Reason why a handler has to stop: the task was cancelled, its claim was lost, or the worker is stopping. */
export type StopReason = 'cancelled' | 'claim_lost' | 'interrupted'

/** Abort reason of a handler's signal. */
export class WorkStoppedError extends Error {
  override readonly name = 'WorkStoppedError'
  /** Reason why the handler has to stop. */
  readonly why: StopReason

  constructor(why: StopReason) {
    super(stopWords[why])
    this.why = why
  }
}

const stopWords: Record<StopReason, string> = {
  cancelled: 'the task was cancelled; stop the work',
  claim_lost: 'the claim is lost; stop the work, the node will not accept its result',
  interrupted: 'the worker is stopping; stop the work',
}

/**
 * Error that a handler throws if it cannot do the task. Any other error fails the task too, with its message
 * as the reason.
 */
export class TaskFailedError extends Error {
  override readonly name = 'TaskFailedError'
  /** Evidence of the failure. */
  readonly evidence: readonly Evidence[]
  /** If true, the claim is released for another attempt instead of failing the task. */
  readonly again: boolean

  constructor(reason: string, options: { evidence?: readonly Evidence[]; again?: boolean } = {}) {
    super(reason)
    this.evidence = options.evidence ?? []
    this.again = options.again ?? false
  }
}

export interface WorkProgress {
  readonly note?: string | undefined
  readonly percent?: number | undefined
}

/** Claimed task that a handler works on. */
export interface ClaimedTask {
  readonly task: Task
  /** Lifetime of the claim in milliseconds. The worker renews it. */
  readonly leaseMs: number
  /** Aborted with a {@link WorkStoppedError} when the work has to stop. */
  readonly signal: AbortSignal
  /** Reports progress. It never throws: a failed report is dropped, since the next one replaces it. */
  progress(progress: WorkProgress): Promise<void>
}

/** Result of a task. */
export interface TaskResult {
  readonly result: string
  /** At least one item. */
  readonly evidence: readonly Evidence[]
}

/** Function that does a claimed task and resolves with its result. */
export type TaskHandler = (claimed: ClaimedTask) => Promise<TaskResult>

/** Event of a worker. */
export type WorkEvent =
  | { readonly type: 'claimed'; readonly task: Task }
  /** The node stored the end: the task is completed, failed, open again or cancelled. */
  | { readonly type: 'ended'; readonly task: Task }
  | { readonly type: 'stopping'; readonly task: Task; readonly why: StopReason }
  /**
   * The claim is lost: the node refused it, or it expired while the node was unreachable. The result is not
   * stored.
   */
  | { readonly type: 'lost'; readonly task: Task }
  /** The node is unreachable, with the error; null when it is reachable again. */
  | { readonly type: 'away'; readonly error: Error | null }

/** Options of a worker. */
export interface WorkOptions extends Pick<CallOptions, 'signal'> {
  /** Ends the worker after this many tasks. */
  readonly limit?: number | undefined
  /** Ends the worker after this many milliseconds without a task. */
  readonly idleMs?: number | undefined
  /**
   * Longest time in milliseconds that the handler needs to stop. If the node is unreachable, the worker stops
   * the handler this long before the claim expires, so that it has stopped when another worker can claim the
   * task. At most a third of the lease is used.
   */
  readonly stopWithinMs?: number | undefined
  readonly onEvent?: ((event: WorkEvent) => void) | undefined
}

/** Result of a worker: the number of tasks that it claimed. */
export interface Worked {
  readonly claimed: number
}
