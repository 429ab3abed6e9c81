/** Recipient key of an agent, as the owner sets it. Contract §9 "Recipient key". */
import type { RecipientKey } from '../../contract/agent/peers.ts'
import { recipientKeys as entries } from '../../contract/owner/agents.ts'
import type { CallOptions } from '../../transport/http.ts'
import type { Call } from '../call.ts'

export class OwnerRecipientKeys {
  readonly #call: Call

  constructor(call: Call) {
    this.#call = call
  }

  /**
   * Sets the public key with which peers encrypt for the agent. It replaces any other. The private key stays
   * on the agent's machine.
   *
   * @throws reauth_required (see `owner.signIn.confirm`), not_found.
   */
  set(
    projectId: string,
    agentId: string,
    recipient: string,
    options: CallOptions = {},
  ): Promise<RecipientKey> {
    const params = { id: projectId, agent_id: agentId }
    return this.#call(entries.set, { params, body: { recipient } }, options)
  }
}
