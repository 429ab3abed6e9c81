/**
 * Remembers the creator and the assignee of tasks, which never change. So a request that names a known task
 * tells the database which inboxes it may change. A request for an unknown task runs alone.
 */
import { answerOf, inboxOf, type Touches } from './touches.ts'
import type { TaskRow } from './work-tables.ts'

const maxTasks = 20_000

type Sides = Pick<TaskRow, 'id' | 'creator_agent_id' | 'assignee_agent_id'>

export class TaskSides {
  readonly #inboxes = new Map<string, readonly string[]>()

  note({ id, creator_agent_id, assignee_agent_id }: Sides): void {
    if (this.#inboxes.has(id)) return
    const [oldest] = this.#inboxes.keys()
    if (this.#inboxes.size >= maxTasks && oldest !== undefined) this.#inboxes.delete(oldest)
    const agents = creator_agent_id === null ? [assignee_agent_id] : [assignee_agent_id, creator_agent_id]
    this.#inboxes.set(id, agents.map(inboxOf))
  }

  /** Returns what a change of the task touches. */
  touchedBy(id: string, answer: { readonly principal: string; readonly key: string }): Touches | undefined {
    const together = this.#inboxes.get(id)
    return together && { alone: [id, answerOf(answer.principal, answer.key)], together }
  }
}
