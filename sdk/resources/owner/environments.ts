/** Environments: where agents run. Contract §10. */
import type { ResponseOf } from '../../contract/endpoint.ts'
import {
  type Environment,
  type EnvironmentInput,
  environments as entries,
} from '../../contract/owner/environments.ts'
import { type CallOptions, type OwnerCall, type PageOptions, pageQuery } from './call.ts'

export class OwnerEnvironments {
  readonly #call: OwnerCall

  constructor(call: OwnerCall) {
    this.#call = call
  }

  /** @throws name_taken within the project; not_found for the project. */
  create(projectId: string, input: EnvironmentInput, options: CallOptions = {}): Promise<Environment> {
    return this.#call(entries.create, { params: { id: projectId }, body: input }, options)
  }

  /** One page of a project's environments. @throws not_found */
  list(projectId: string, page: PageOptions & CallOptions = {}): Promise<ResponseOf<typeof entries.list>> {
    return this.#call(entries.list, { params: { id: projectId }, query: pageQuery(page) }, page)
  }
}
