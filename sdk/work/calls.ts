/**
 * The calls of a task's worker. `bridge.tasks` implements them.
 *
 * The interface stands here so that the files of this folder import nothing of sdk/resources/tasks.ts, which loads them.
 */
import type { Evidence, Task, TaskList, TaskRole, TaskState } from '../contract/agent/tasks.ts'
import type { PageOptions } from '../resources/call.ts'
import type { CallOptions, KeyedOptions } from '../transport/http.ts'

/** A claim as `claim` answered it: a whole Task will do. */
export interface HeldTask {
  readonly id: string
  readonly claim: { readonly generation: number; readonly session_generation: number } | null
}

/** Which tasks, and which page of them. */
export interface TaskListOptions extends PageOptions, CallOptions {
  readonly state?: TaskState | undefined
  readonly role?: TaskRole | undefined
  /** How long to wait for the first task, 20 seconds at most. */
  readonly waitSeconds?: number | undefined
}

/** Each does what the method of `bridge.tasks` with its name does. */
export interface TaskCalls {
  list(options: TaskListOptions): Promise<TaskList>
  get(id: string, options: CallOptions): Promise<Task>
  claim(id: string, options: KeyedOptions): Promise<Task>
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
