/** The messages of the inbox that concern one task. */
import type { Acknowledgements } from '../resources/acknowledgements.ts'
import type { Inbox } from '../resources/inbox.ts'
import type { CallOptions } from '../transport/http.ts'

export class TaskMessages {
  readonly #inbox: Inbox
  readonly #acknowledgements: Acknowledgements

  constructor(inbox: Inbox, acknowledgements: Acknowledgements) {
    this.#inbox = inbox
    this.#acknowledgements = acknowledgements
  }

  /** Acknowledge them. Their ids sort after the id of the task, so the list begins there. */
  async acknowledge(taskId: string, options: CallOptions = {}): Promise<void> {
    const ids: string[] = []
    for await (const { id, task_id } of this.#inbox.all({ ...options, after: taskId }))
      if (task_id === taskId) ids.push(id)
    if (ids.length > 0) await this.#acknowledgements.create(ids, options)
  }
}
