/** Projects, as their owner sees them. Contract §10. */
import type { ResponseOf } from '../../contract/endpoint.ts'
import { limits } from '../../contract/limits.ts'
import {
  projects as entries,
  type Project,
  type ProjectDeleted,
  type ProjectInput,
  type ProjectState,
  type ProjectStateInput,
} from '../../contract/owner/projects.ts'
import type { CallOptions } from '../../transport/http.ts'
import { type Call, everyItem, given, type PageOptions } from '../call.ts'

export class OwnerProjects {
  readonly #call: Call

  constructor(call: Call) {
    this.#call = call
  }

  /** One page of the projects that the caller may see, oldest first. */
  list({
    after,
    limit,
    ...options
  }: PageOptions & CallOptions = {}): Promise<ResponseOf<typeof entries.list>> {
    return this.#call(entries.list, { query: given({ after, limit }) }, options)
  }

  /** Every project that the caller may see, page after page. */
  all(options: CallOptions = {}): AsyncGenerator<Project, void, undefined> {
    const read = (after: string | undefined) => this.list({ ...options, after, limit: limits.pageMax })
    return everyItem(read, (page) => page.projects)
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

  /**
   * Delete for good, with everything in it: agents, conversations, audit. `confirmName` is its exact name.
   *
   * @throws invalid_request for another name; reauth_required (see `owner.signIn.confirm`); not_found; not_permitted for a
   *   project administrator.
   */
  delete(projectId: string, confirmName: string, options: CallOptions = {}): Promise<ProjectDeleted> {
    return this.#call(
      entries.delete,
      { params: { id: projectId }, body: { confirm_name: confirmName } },
      options,
    )
  }
}
