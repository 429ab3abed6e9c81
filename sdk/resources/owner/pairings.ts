/** Pairings: which two agents of a project may talk. Contract §10. */
import type { ResponseOf } from '../../contract/endpoint.ts'
import { pairings as entries, type PairingResult } from '../../contract/owner/pairings.ts'
import { type CallOptions, type OwnerCall, type PageOptions, pageQuery } from './call.ts'

export class OwnerPairings {
  readonly #call: OwnerCall

  constructor(call: OwnerCall) {
    this.#call = call
  }

  /**
   * Enable or disable a pair; the order of the two does not matter, and the state it already has is not an error.
   *
   * @throws not_found unless both are agents of the project.
   */
  set(
    projectId: string,
    agentIds: readonly [string, string],
    enabled: boolean,
    options: CallOptions = {},
  ): Promise<PairingResult> {
    const body = { agent_ids: [...agentIds], enabled }
    return this.#call(entries.set, { params: { id: projectId }, body }, options)
  }

  /** One page of a project's pairings. @throws not_found */
  list(projectId: string, page: PageOptions & CallOptions = {}): Promise<ResponseOf<typeof entries.list>> {
    return this.#call(entries.list, { params: { id: projectId }, query: pageQuery(page) }, page)
  }
}
