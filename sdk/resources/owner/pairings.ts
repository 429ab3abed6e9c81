/** Pairings: which two agents of a project may talk. Contract §10. */
import type { ResponseOf } from '../../contract/endpoint.ts'
import { limits } from '../../contract/limits.ts'
import { pairings as entries, type PairingResult } from '../../contract/owner/pairings.ts'
import type { CallOptions } from '../../transport/http.ts'
import { type Call, everyItem, given, type OfAgent, type Ordered, type PageOptions } from '../call.ts'

export class OwnerPairings {
  readonly #call: Call

  constructor(call: Call) {
    this.#call = call
  }

  /**
   * Enables or disables the pairing of two agents, in either order. Setting its current state again has no
   * effect.
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
  list(
    projectId: string,
    { after, limit, order, agentId, ...options }: PageOptions & Ordered & OfAgent & CallOptions = {},
  ): Promise<ResponseOf<typeof entries.list>> {
    const query = given({ after, limit, order, agent_id: agentId })
    return this.#call(entries.list, { params: { id: projectId }, query }, options)
  }

  /** Every pairing of a project, page after page. @throws not_found */
  all(
    projectId: string,
    options: OfAgent & Ordered & CallOptions = {},
  ): AsyncGenerator<PairingResult, void, undefined> {
    const read = (after: string | undefined) =>
      this.list(projectId, { ...options, after, limit: limits.pageMax })
    return everyItem(read, (page) => page.pairings)
  }
}
