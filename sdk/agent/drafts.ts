/**
 * Conversion of drafts into the input of `messages.send`. The recipient of a draft is a name, or the sender
 * of the message that the draft replies to.
 */
import { messages } from '../contract/agent/messages.ts'
import type { MessageDraft } from '../storage/outbox.ts'
import type { CallInput, CallOptions } from '../transport/http.ts'
import type { DirectCalls } from './direct-calls.ts'
import { type Directory, type MessageAddress, replyAddress } from './directory.ts'

export type SendInput = CallInput<typeof messages.send>

/**
 * Returns the input of a message with its address first. A message that is sent again with its Idempotency-Key
 * needs the same bytes, wherever its address was found.
 */
export const addressed = (
  { recipient_agent_id, conversation_id }: MessageAddress,
  message: Omit<MessageDraft, 'to'>,
): SendInput => ({ body: { recipient_agent_id, conversation_id, ...message } })

export class Drafts {
  readonly #agentId: string
  readonly #directory: Directory
  readonly #direct: DirectCalls

  constructor(agentId: string, directory: Directory, direct: DirectCalls) {
    this.#agentId = agentId
    this.#directory = directory
    this.#direct = direct
  }

  /** Returns the input if the directory has the recipient in its cache. Sends no request. */
  async remembered({ to, ...message }: MessageDraft): Promise<SendInput | undefined> {
    const address = to === undefined ? undefined : await this.#directory.known(to)
    return address && addressed(address, message)
  }

  /**
   * Returns the input, after a look-up if it needs one.
   *
   * @throws LocalError `peer_unknown`; BridgeError `not_found`
   */
  async resolved({ to, ...message }: MessageDraft, options: CallOptions): Promise<SendInput> {
    if (to !== undefined) return addressed(await this.#directory.address(to, options), message)
    const id = message.in_reply_to ?? ''
    const original = await this.#direct.call(messages.get, { params: { id } }, options)
    return addressed(replyAddress(original, this.#agentId), message)
  }
}
