/**
 * Calls that a worker needs. `bridge.tasks` implements them.
 *
 * The interface is declared here because tasks.ts imports the files that use it, and they must not import
 * tasks.ts.
 */
import type { Evidence, Task, TaskList, TaskRole, TaskState } from '../contract/agent/tasks.ts'
import type { PageOptions } from '../resources/call.ts'
import type { CallOptions, KeyedOptions } from '../transport/http.ts'

/** Claimed task, as `claim` returned it. Any Task with a claim fits. */
export interface HeldTask {
  readonly id: string
  readonly claim: { readonly generation: number; readonly session_generation: number } | null
}

/** Filter, page and wait of a task list. */
export interface TaskListOptions extends PageOptions, CallOptions {
  readonly state?: TaskState | undefined
  readonly role?: TaskRole | undefined
  /** Seconds to wait for the first task, at most 20. */
  readonly waitSeconds?: number | undefined
}

/** Options of a claim. */
export interface ClaimOptions extends KeyedOptions {
  /** Lifetime of this claim and of each renewal, if shorter than the task's. 30 to 3600. */
  readonly claimTtlSeconds?: number | undefined
}

/** Methods of `bridge.tasks` with the same names. */
export interface TaskCalls {
  list(options: TaskListOptions): Promise<TaskList>
  get(id: string, options: CallOptions): Promise<Task>
  claim(id: string, options: ClaimOptions): Promise<Task>
  renew(held: HeldTask, options: KeyedOptions): Promise<Task>
  progress(
    held: HeldTask,
    report: { readonly note?: string | undefined; readonly percent?: number | undefined },
    options: KeyedOptions,
  ): Promise<Task>
  complete(
    held: HeldTask,
    done: { readonly result: string; readonly evidence: readonly Evidence[] },
    options: KeyedOptions,
  ): Promise<Task>
  fail(
    held: HeldTask,
    failed: { readonly reason: string; readonly evidence?: readonly Evidence[] | undefined },
    options: KeyedOptions,
  ): Promise<Task>
  release(held: HeldTask, why: { readonly reason: string }, options: KeyedOptions): Promise<Task>
  stopped(held: HeldTask, options: KeyedOptions): Promise<Task>
}
