/** An agent's recipient key, as its owner sets it. Contract §9 "Recipient key". */
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
   * Set the public key that others seal to, in place of any other; the private half stays on the agent's machine.
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
