/**
 * Sending and reading messages. A send that returns is *stored*. `get` says whether the message was offered
 * or acknowledged.
 *
 * Contract §7.
 */
import type { AgentCalls } from '../agent/agent-calls.ts'
import type { Directory } from '../agent/directory.ts'
import { addressed } from '../agent/drafts.ts'
import {
  messages as entries,
  type Message,
  type MessageInput,
  type MessageSent,
} from '../contract/agent/messages.ts'
import type { MessageDraft } from '../storage/outbox.ts'
import type { CallOptions, KeyedOptions } from '../transport/http.ts'

/**
 * A message with its recipient: a peer by id or name, or `owner`. Its conversation is looked up if it is
 * absent.
 */
export interface OutgoingMessage extends Omit<MessageInput, 'conversation_id'> {
  readonly conversation_id?: string | undefined
}

export class Messages {
  readonly #calls: AgentCalls
  readonly #directory: Directory

  constructor(calls: AgentCalls, directory: Directory) {
    this.#calls = calls
    this.#directory = directory
  }

  /**
   * Sends a message: it is stored when this returns. Repeating the call with the same Idempotency-Key and
   * message gets the same answer. `recipient_agent_id` is an id, a name or `owner`.
   *
   * @throws not_found, pairing_disabled, project_paused, conversation_budget (stop, and do not send it in
   * other words), idempotency_conflict. LocalError `peer_unknown` lists the peers.
   */
  async send(message: OutgoingMessage, options: KeyedOptions = {}): Promise<MessageSent> {
    const { conversation_id, recipient_agent_id: to, ...draft } = message
    if (conversation_id === undefined) return this.#calls.sendDraft({ ...draft, to }, options)
    const recipient_agent_id = await this.#directory.agentId(to, options)
    return this.#calls.call(entries.send, addressed({ recipient_agent_id, conversation_id }, draft), options)
  }

  /**
   * Sends a message to a peer, given by name or id, or to `owner`. Agent and conversation are looked up once
   * and cached.
   *
   * @throws LocalError `peer_unknown`; otherwise as {@link send}.
   */
  sendTo(to: string, message: Omit<MessageDraft, 'to'>, options: KeyedOptions = {}): Promise<MessageSent> {
    return this.#calls.sendDraft({ ...message, to }, options)
  }

  /**
   * Sends a message to the sender of the message that it replies to.
   *
   * @throws not_found if the caller is neither sender nor recipient of that message; LocalError
   * `peer_unknown` if the node
   *   itself sent it.
   */
  reply(
    messageId: string,
    message: Omit<MessageDraft, 'to' | 'in_reply_to'>,
    options: KeyedOptions = {},
  ): Promise<MessageSent> {
    return this.#calls.sendDraft({ ...message, in_reply_to: messageId }, options)
  }

  /** Reads one message with its delivery state, as its sender or recipient. @throws not_found */
  get(id: string, options: CallOptions = {}): Promise<Message> {
    return this.#calls.call(entries.get, { params: { id } }, options)
  }
}
