/** Projects, as their owner sees them. Contract §10. */
import type { ResponseOf } from '../../contract/endpoint.ts'
import {
  projects as entries,
  type Project,
  type ProjectInput,
  type ProjectState,
  type ProjectStateInput,
} from '../../contract/owner/projects.ts'
import { type CallOptions, type OwnerCall, type PageOptions, pageQuery } from './call.ts'

export class OwnerProjects {
  readonly #call: OwnerCall

  constructor(call: OwnerCall) {
    this.#call = call
  }

  /** One page of the projects that the caller may see, oldest first. */
  list(page: PageOptions & CallOptions = {}): Promise<ResponseOf<typeof entries.list>> {
    return this.#call(entries.list, { query: pageQuery(page) }, page)
  }

  /**
   * Create an empty project; it is active at once.
   *
   * @throws name_taken, and not_permitted for a project administrator.
   */
  create(input: ProjectInput, options: CallOptions = {}): Promise<Project> {
    return this.#call(entries.create, { body: input }, options)
  }

  /**
   * Activate, pause or archive. The state it already has is not an error.
   *
   * @throws state_conflict for archived to active, which goes through paused; not_found.
   */
  setState(projectId: string, state: ProjectState, options: CallOptions = {}): Promise<ProjectStateInput> {
    return this.#call(entries.setState, { params: { id: projectId }, body: { state } }, options)
  }
}
