/** The owner's own voice, and what agents wrote to the owner. Contract §7. */
import type { Acknowledged, Message } from '../../contract/agent/messages.ts'
import { messages as entries, type OwnerMessageInput } from '../../contract/owner/messages.ts'
import type { CallOptions, KeyedOptions } from '../../transport/http.ts'
import type { Call } from '../call.ts'

export class OwnerMessages {
  readonly #call: Call

  constructor(call: Call) {
    this.#call = call
  }

  /**
   * Store a message that the agent sees as the owner's. Without `conversation_id` it goes to the owner conversation.
   *
   * @throws not_found, capacity_reached, project_archived; idempotency_conflict for another message under the same key.
   */
  send(projectId: string, input: OwnerMessageInput, options: KeyedOptions = {}): Promise<Message> {
    return this.#call(entries.send, { params: { id: projectId }, body: input }, options)
  }

  /**
   * Say that the owner has recorded these messages: all or nothing. Twice is not an error: `already` names them.
   *
   * @throws not_found when one of them is not addressed to the owner.
   */
  acknowledge(
    projectId: string,
    messageIds: readonly string[],
    options: CallOptions = {},
  ): Promise<Acknowledged> {
    const body = { message_ids: [...messageIds] }
    return this.#call(entries.acknowledge, { params: { id: projectId }, body }, options)
  }
}
