/**
 * What `bridge.tasks.work(handler)` takes and gives.
 *
 * Contract §8, §12 `task run`, §13.
 */
import type { Evidence, Task } from '../contract/agent/tasks.ts'
import type { CallOptions } from '../transport/http.ts'

/** Why a handler has to stop. */
export type StopReason = 'cancelled' | 'claim_lost' | 'interrupted'

/** The reason of a handler's signal. */
export class WorkStoppedError extends Error {
  override readonly name = 'WorkStoppedError'
  /** What ended the work. */
  readonly why: StopReason

  constructor(why: StopReason) {
    super(stopWords[why])
    this.why = why
  }
}

const stopWords: Record<StopReason, string> = {
  cancelled: 'the task was cancelled; stop the work',
  claim_lost: 'the claim is lost; stop the work, nothing of it counts any more',
  interrupted: 'the worker is stopping; stop the work',
}

/** Thrown by a handler: the task cannot be done. Any other error fails it too, with the error's message. */
export class TaskFailedError extends Error {
  override readonly name = 'TaskFailedError'
  /** What the failure left behind. */
  readonly evidence: readonly Evidence[]
  /** Give the claim back instead, for another attempt. */
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

/** A task in the hands of a handler. */
export interface ClaimedTask {
  readonly task: Task
  /** Aborted with a {@link WorkStoppedError} when the work has to stop. */
  readonly signal: AbortSignal
  /** Tell how far the work is. Failures are not the handler's: the next report tells more. */
  progress(progress: WorkProgress): Promise<void>
}

/** What a task came to. */
export interface TaskResult {
  readonly result: string
  /** At least one item. */
  readonly evidence: readonly Evidence[]
}

/** Does a claimed task; what it resolves with is its result. */
export type TaskHandler = (claimed: ClaimedTask) => Promise<TaskResult>

/** What happens while tasks are worked on. */
export type WorkEvent =
  | { readonly type: 'claimed'; readonly task: Task }
  /** How it ended at the node: completed, failed, open again, cancelled. */
  | { readonly type: 'ended'; readonly task: Task }
  | { readonly type: 'stopping'; readonly task: Task; readonly why: StopReason }
  /** Nothing of it counts any more; the node told so, or the claim ran out while it was away. */
  | { readonly type: 'lost'; readonly task: Task }
  /** What the node could not be told; null when it is heard again. */
  | { readonly type: 'away'; readonly error: Error | null }

/** Which tasks to take, and how. */
export interface WorkOptions extends Pick<CallOptions, 'signal'> {
  /** End after so many tasks. */
  readonly limit?: number | undefined
  /** End when no task came for so long. */
  readonly idleMs?: number | undefined
  /**
   * How long the handler takes to stop, at most. While the node cannot be reached, a claim is given up so long before its
   * end, so that nothing works on when somebody else may claim the task. Counts up to a third of the lease.
   */
  readonly stopWithinMs?: number | undefined
  readonly onEvent?: ((event: WorkEvent) => void) | undefined
}

/** How many tasks were claimed. */
export interface Worked {
  readonly claimed: number
}
