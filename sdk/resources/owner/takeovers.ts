/** Takeovers: the owner ends an agent's session and determines who starts the next one. Contract §5. */
import {
  takeovers as entries,
  type TakeoverInput,
  type TakeoverIssued,
} from '../../contract/owner/credentials.ts'
import type { CallOptions } from '../../transport/http.ts'
import type { Call } from '../call.ts'

export class OwnerTakeovers {
  readonly #call: Call

  constructor(call: Call) {
    this.#call = call
  }

  /**
   * Fences the agent's session immediately, and issues a single-use grant. Until the grant is used or
   * expires, only its holder can start a session. The grant is shown once. A new takeover voids the previous
   * grant.
   *
   * @throws reauth_required (see `owner.signIn.confirm`), agent_disabled, project_archived, not_found.
   */
  issue(
    projectId: string,
    agentId: string,
    input: TakeoverInput = {},
    options: CallOptions = {},
  ): Promise<TakeoverIssued> {
    return this.#call(entries.issue, { params: { id: projectId, agent_id: agentId }, body: input }, options)
  }
}
