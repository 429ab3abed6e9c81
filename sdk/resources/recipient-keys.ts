/** The age public keys to which others seal what only their owner may read. Contract §9 "Recipient key". */
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
   * Register the caller's own key, `age1…` of X25519. The same key again succeeds.
   *
   * @throws recipient_key_conflict when another one is registered: an administrator has to replace it.
   */
  register(recipient: string, options: CallOptions = {}): Promise<RecipientKey> {
    return this.#call(entries.register, { body: { recipient } }, options)
  }

  /** The key of the other participant. @throws not_found when there is none, or no such conversation. */
  ofConversation(conversationId: string, options: CallOptions = {}): Promise<RecipientKey> {
    return this.#call(entries.ofConversation, { params: { id: conversationId } }, options)
  }
}
