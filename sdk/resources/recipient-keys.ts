/** Recipient keys: the age public keys with which peers encrypt for one agent. Contract §9 "Recipient key". */
import type { RecipientKey } from '../contract/agent/peers.ts'
import { recipientKeys as entries } from '../contract/agent/recipient-keys.ts'
import type { CallOptions } from '../transport/http.ts'
import type { Call } from './call.ts'

export class RecipientKeys {
  readonly #call: Call

  constructor(call: Call) {
    this.#call = call
  }

  /**
   * Registers the caller's own X25519 key, `age1…`. Registering the same key again succeeds.
   *
   * @throws recipient_key_conflict if another key is registered, which only the owner or an administrator can
   * replace.
   */
  register(recipient: string, options: CallOptions = {}): Promise<RecipientKey> {
    return this.#call(entries.register, { body: { recipient } }, options)
  }

  /**
   * Reads the key of the other participant.
   *
   * @throws not_found if it has no key, or the conversation does not exist.
   */
  ofConversation(conversationId: string, options: CallOptions = {}): Promise<RecipientKey> {
    return this.#call(entries.ofConversation, { params: { id: conversationId } }, options)
  }
}
