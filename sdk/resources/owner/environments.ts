/** Environments: where agents run. Contract §10. */
import type { ResponseOf } from '../../contract/endpoint.ts'
import { limits } from '../../contract/limits.ts'
import {
  type Environment,
  type EnvironmentInput,
  type EnvironmentProfileInput,
  environments as entries,
} from '../../contract/owner/environments.ts'
import type { CallOptions } from '../../transport/http.ts'
import { type Call, everyItem, given, type Ordered, type PageOptions } from '../call.ts'

export class OwnerEnvironments {
  readonly #call: Call

  constructor(call: Call) {
    this.#call = call
  }

  /** @throws name_taken within the project; not_found for the project. */
  create(projectId: string, input: EnvironmentInput, options: CallOptions = {}): Promise<Environment> {
    return this.#call(entries.create, { params: { id: projectId }, body: input }, options)
  }

  /** One page of a project's environments. @throws not_found */
  list(
    projectId: string,
    { after, limit, order, ...options }: PageOptions & Ordered & CallOptions = {},
  ): Promise<ResponseOf<typeof entries.list>> {
    return this.#call(
      entries.list,
      { params: { id: projectId }, query: given({ after, limit, order }) },
      options,
    )
  }

  /** Every environment of a project, page after page. @throws not_found */
  all(projectId: string, options: Ordered & CallOptions = {}): AsyncGenerator<Environment, void, undefined> {
    const read = (after: string | undefined) =>
      this.list(projectId, { ...options, after, limit: limits.pageMax })
    return everyItem(read, (page) => page.environments)
  }

  /** @throws not_found */
  get(projectId: string, environmentId: string, options: CallOptions = {}): Promise<Environment> {
    return this.#call(entries.get, { params: { id: projectId, environment_id: environmentId } }, options)
  }

  /** Changes the given fields and returns the whole environment. @throws name_taken, not_found */
  change(
    projectId: string,
    environmentId: string,
    change: EnvironmentProfileInput,
    options: CallOptions = {},
  ): Promise<Environment> {
    const params = { id: projectId, environment_id: environmentId }
    return this.#call(entries.change, { params, body: change }, options)
  }
}
