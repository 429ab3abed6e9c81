/** Messages from the owner, and acknowledgement of messages to the owner. Contract §7. */
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
   * Sends a message from the owner to an agent. Without `conversation_id` it goes to the agent's owner
   * conversation.
   *
   * @throws not_found, capacity_reached, project_archived; idempotency_conflict for another message with the
   * same key.
   */
  send(projectId: string, input: OwnerMessageInput, options: KeyedOptions = {}): Promise<Message> {
    return this.#call(entries.send, { params: { id: projectId }, body: input }, options)
  }

  /**
   * Acknowledges messages to the owner, all of them or none. `already` lists those that were acknowledged
   * before.
   *
   * @throws not_found if one of them is not addressed to the owner.
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
