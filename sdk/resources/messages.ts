/**
 * Sending and reading messages. A send that is answered is *stored*; whether it was offered or acknowledged is told by
 * `get`.
 *
 * Contract §7.
 */
import {
  messages as entries,
  type Message,
  type MessageInput,
  type MessageSent,
} from '../contract/agent/messages.ts'
import type { MessageDraft } from '../outbox.ts'
import type { CallOptions, KeyedOptions } from '../transport/http.ts'
import type { Call } from './call.ts'

/** Sends a draft once its recipient is looked up. */
export type SendDraft = (draft: MessageDraft, options: KeyedOptions) => Promise<MessageSent>

export class Messages {
  readonly #call: Call
  readonly #sendDraft: SendDraft

  constructor(call: Call, sendDraft: SendDraft) {
    this.#call = call
    this.#sendDraft = sendDraft
  }

  /**
   * Store a message. The same Idempotency-Key and message again get the same answer.
   *
   * @throws not_found, pairing_disabled, project_paused, conversation_budget (stop, do not rephrase),
   *   idempotency_conflict.
   */
  send(input: MessageInput, options: KeyedOptions = {}): Promise<MessageSent> {
    return this.#call(entries.send, { body: input }, options)
  }

  /**
   * {@link send} to a peer by name or id, or to `owner`. Who and which conversation that is gets looked up once and
   * remembered.
   *
   * @throws LocalError `peer_unknown`; else as {@link send}.
   */
  sendTo(to: string, message: Omit<MessageDraft, 'to'>, options: KeyedOptions = {}): Promise<MessageSent> {
    return this.#sendDraft({ ...message, to }, options)
  }

  /**
   * {@link send} to whoever sent the message that this one replies to.
   *
   * @throws not_found when the message is not the caller's; LocalError `peer_unknown` when the service itself sent it.
   */
  reply(
    messageId: string,
    message: Omit<MessageDraft, 'to' | 'in_reply_to'>,
    options: KeyedOptions = {},
  ): Promise<MessageSent> {
    return this.#sendDraft({ ...message, in_reply_to: messageId }, options)
  }

  /** One message with its delivery, as sender or recipient. @throws not_found */
  get(id: string, options: CallOptions = {}): Promise<Message> {
    return this.#call(entries.get, { params: { id } }, options)
  }
}
