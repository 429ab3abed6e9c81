/**
 * The wait for the end of a task.
 *
 * - completed, failed, declined and cancelled end it. Every other change, such as a new claim, does not.
 * - The result is the task as its creator or assignee reads it. A `task` message only says when to read it.
 * - At the end the wait acknowledges the `task` messages of this task, which say what the result says.
 *
 * Contract §8, §13.
 */
import { finalTaskStates, type Task } from '../contract/agent/tasks.ts'
import { LocalError } from '../transport/failures.ts'
import { timeoutOf, unlessPassing, within } from '../waiting/questions.ts'
import type { TaskMessages } from '../waiting/task-messages.ts'
import type { Watch } from '../waiting/watch.ts'
import type { TaskCalls } from './calls.ts'

type Ended<State extends Task['state'], More> = Omit<Task, 'state' | keyof More> & {
  readonly state: State
} & More

type Outcome<Kind> = Omit<NonNullable<Task['outcome']>, 'kind'> & { readonly kind: Kind }

/** A task in a final state, with the outcome or the cancellation that this state has. */
export type EndedTask =
  | Ended<'completed', { readonly outcome: Outcome<'completed'> & { readonly result: string } }>
  | Ended<'failed', { readonly outcome: Outcome<'failed' | 'attempts_exhausted'> }>
  | Ended<'declined', { readonly outcome: Outcome<'declined'> }>
  | Ended<'cancelled', { readonly cancellation: NonNullable<Task['cancellation']> }>

/** How to wait for the end of a task. */
export interface TaskWaitOptions {
  /** Milliseconds. Ten minutes when absent. `Infinity` for no timeout. */
  readonly timeout?: number | undefined
  /** Ends the wait. The task continues. */
  readonly signal?: AbortSignal | undefined
  /** False leaves the `task` messages of this task unacknowledged. True when absent. */
  readonly acknowledge?: boolean | undefined
  /**
   * Called with the reason when the node cannot be reached, and with undefined when it answers again. The
   * wait continues.
   */
  readonly onConnection?: ((away: Error | undefined) => void) | undefined
}

/**
 * The task did not end before the timeout. It continues, and `bridge.tasks.wait(error.taskId)` resumes the
 * wait.
 */
export class TaskUnfinished extends LocalError {
  /** The id of the task. */
  readonly taskId: string

  constructor(taskId: string, timeout: number, away: Error | undefined) {
    super(
      'task_unfinished',
      `task ${taskId} was not over ${within(timeout, away)}; ${goesOn(taskId)}`,
      away && { cause: away },
    )
    this.taskId = taskId
  }
}

export interface TaskWaiting {
  readonly watch: Watch
  readonly tasks: Pick<TaskCalls, 'get'>
  readonly messages: TaskMessages
}

export async function waitForTask(
  { watch, tasks, messages }: TaskWaiting,
  id: string,
  options: TaskWaitOptions,
): Promise<EndedTask> {
  const timeout = timeoutOf(options)
  const { signal, onConnection, acknowledge = true } = options
  const end = {
    tells: ({ task_id }: { readonly task_id: string | null }) => (task_id === id ? 'look' : undefined),
    look: async (lookSignal: AbortSignal) => {
      const task = await tasks.get(id, { signal: lookSignal })
      return isEnded(task) ? task : undefined
    },
  } as const
  try {
    const task = await watch.wait(end, { timeout, signal, onConnection })
    if (task === undefined) throw new TaskUnfinished(id, timeout, watch.lastFailure)
    if (acknowledge) await messages.acknowledge(id, { signal }).catch(unlessPassing)
    return task
  } catch (error) {
    if (!(error instanceof LocalError && error.code === 'aborted')) throw error
    throw new LocalError('aborted', `${error.message}; ${goesOn(id)}`, { cause: error })
  }
}

/** A final state has its outcome or its cancellation. */
function isEnded(task: Task): task is Task & EndedTask {
  const { state, outcome, cancellation } = task
  return finalTaskStates.has(state) && (state === 'cancelled' ? cancellation : outcome) !== null
}

const goesOn = (taskId: string): string => `the task goes on, and bridge.tasks.wait('${taskId}') waits on`
