/**
 * The SDK for a hook of a harness: the reads of one agent, and nothing of the outbox, of listening and of files.
 *
 * A hook runs with every turn of a session, and loading the whole SDK would take most of its time. The requests are
 * those of {@link Bridge}: the same signature, session, remedies, time limits and failures. The package does not
 * export this file.
 */
import { type ConnectionOptions, connectionOf } from './agent/connection.ts'
import type { DirectCalls } from './agent/direct-calls.ts'
import { type TaskList, tasks } from './contract/agent/tasks.ts'
import type { QueryOf } from './contract/endpoint.ts'
import { Inbox } from './resources/inbox.ts'
import type { CallOptions } from './transport/http.ts'

export { Identity } from './agent/identity.ts'
export { blankSession } from './agent/session.ts'
export { importPrivateKey } from './signing/keys.ts'
export { version } from './version.ts'

export class AgentReader {
  readonly inbox: Inbox
  readonly #direct: DirectCalls

  /** @throws LocalError `invalid_url`, `insecure_url` */
  constructor(options: ConnectionOptions) {
    const { direct } = connectionOf(options)
    this.#direct = direct
    this.inbox = new Inbox((entry, input, callOptions) => direct.call(entry, input, callOptions))
  }

  /** Reads one page of the agent's tasks, oldest first. */
  listTasks(query: QueryOf<typeof tasks.list>, options: CallOptions = {}): Promise<TaskList> {
    return this.#direct.call(tasks.list, { query }, options)
  }
}
