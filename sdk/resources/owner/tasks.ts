/** Tasks, as the owner creates, reads and cancels them. Contract §8. */
import type {
  Task,
  TaskEntry,
  TaskInput,
  TaskList,
  TaskState,
  TaskTimeline,
} from '../../contract/agent/tasks.ts'
import { limits } from '../../contract/limits.ts'
import { tasks as entries } from '../../contract/owner/tasks.ts'
import type { CallOptions, KeyedOptions } from '../../transport/http.ts'
import { type Call, everyItem, given, type Ordered, type PageOptions } from '../call.ts'

export interface OwnerTaskFilter {
  readonly state?: TaskState | undefined
  readonly assigneeAgentId?: string | undefined
}

export class OwnerTasks {
  readonly #call: Call

  constructor(call: Call) {
    this.#call = call
  }

  /**
   * Creates a task for an agent, in its owner conversation.
   *
   * @throws not_found, state_conflict for a disabled agent, project_archived, or capacity_reached.
   */
  create(projectId: string, input: TaskInput, options: KeyedOptions = {}): Promise<Task> {
    return this.#call(entries.create, { params: { id: projectId }, body: input }, options)
  }

  /** One page of a project's tasks, oldest first. @throws not_found */
  list(
    projectId: string,
    {
      after,
      limit,
      order,
      state,
      assigneeAgentId,
      ...options
    }: OwnerTaskFilter & PageOptions & Ordered & CallOptions = {},
  ): Promise<TaskList> {
    const query = given({ after, limit, order, state, assignee_agent_id: assigneeAgentId })
    return this.#call(entries.list, { params: { id: projectId }, query }, options)
  }

  /** Every task of a project, page after page. @throws not_found */
  all(
    projectId: string,
    options: OwnerTaskFilter & Ordered & CallOptions = {},
  ): AsyncGenerator<Task, void, undefined> {
    const read = (after: string | undefined) =>
      this.list(projectId, { ...options, after, limit: limits.pageMax })
    return everyItem(read, (page) => page.tasks)
  }

  /** @throws not_found */
  get(projectId: string, taskId: string, options: CallOptions = {}): Promise<Task> {
    return this.#call(entries.get, { params: { id: projectId, task_id: taskId } }, options)
  }

  /** Reads one page of a task's timeline, oldest entry first. @throws not_found */
  timeline(
    projectId: string,
    taskId: string,
    { after, limit, ...options }: PageOptions & CallOptions = {},
  ): Promise<TaskTimeline> {
    const params = { id: projectId, task_id: taskId }
    return this.#call(entries.timeline, { params, query: given({ after, limit }) }, options)
  }

  /** Yields every entry of a task's timeline, page after page. @throws not_found */
  history(
    projectId: string,
    taskId: string,
    options: CallOptions = {},
  ): AsyncGenerator<TaskEntry, void, undefined> {
    const read = (after: string | undefined) =>
      this.timeline(projectId, taskId, { ...options, after, limit: limits.pageMax })
    return everyItem(read, (page) => page.entries)
  }

  /**
   * Cancels a task. If it is claimed, the holder is asked to stop and confirms.
   *
   * @throws not_found, state_conflict
   */
  async cancel(
    projectId: string,
    taskId: string,
    { reason }: { readonly reason?: string | undefined } = {},
    options: KeyedOptions = {},
  ): Promise<Task> {
    const params = { id: projectId, task_id: taskId }
    return (await this.#call(entries.cancel, { params, body: given({ reason }) }, options)).task
  }
}
