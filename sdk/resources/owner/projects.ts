/** Projects, as the owner manages them. Contract §10. */
import type { ResponseOf } from '../../contract/endpoint.ts'
import { limits } from '../../contract/limits.ts'
import { audit } from '../../contract/owner/audit.ts'
import {
  projects as entries,
  type Project,
  type ProjectDeleted,
  type ProjectInput,
  type ProjectProfileInput,
  type ProjectState,
  type ProjectStateInput,
} from '../../contract/owner/projects.ts'
import { type ProjectSnapshot, snapshots } from '../../contract/owner/snapshot.ts'
import type { CallOptions } from '../../transport/http.ts'
import { type Call, everyItem, given, type Ordered, type PageOptions } from '../call.ts'
import { type FollowOptions, watching } from './following.ts'

/** Largest age of the connection state in `watch`, in seconds. */
const watchSeconds = 5
const watchTimeoutMs = 15_000

export class OwnerProjects {
  readonly #call: Call

  constructor(call: Call) {
    this.#call = call
  }

  /** One page of the projects that the caller may see, oldest first. */
  list({
    after,
    limit,
    order,
    ...options
  }: PageOptions & Ordered & CallOptions = {}): Promise<ResponseOf<typeof entries.list>> {
    return this.#call(entries.list, { query: given({ after, limit, order }) }, options)
  }

  /** Every project that the caller may see, page after page. */
  all(options: Ordered & CallOptions = {}): AsyncGenerator<Project, void, undefined> {
    const read = (after: string | undefined) => this.list({ ...options, after, limit: limits.pageMax })
    return everyItem(read, (page) => page.projects)
  }

  /**
   * Creates an empty, active project.
   *
   * @throws name_taken, and not_permitted for a project administrator.
   */
  create(input: ProjectInput, options: CallOptions = {}): Promise<Project> {
    return this.#call(entries.create, { body: input }, options)
  }

  /**
   * Reads a snapshot of a project: agents, counts, the latest 100 records, attention items.
   *
   * @throws not_found
   */
  snapshot(projectId: string, options: CallOptions = {}): Promise<ProjectSnapshot> {
    return this.#call(snapshots.get, { params: { id: projectId } }, options)
  }

  /**
   * Yields snapshots of a project: after every audit record, after every change of presence, and at least every
   * 5 seconds. If the node is unreachable, it retries.
   *
   * @throws not_found, wait_limit, and aborted.
   */
  watch(projectId: string, options: FollowOptions = {}): AsyncGenerator<ProjectSnapshot, void, undefined> {
    const { signal } = options
    const timeoutMs = watchTimeoutMs
    return watching(
      options,
      () => this.snapshot(projectId, { signal, timeoutMs }),
      ({ activity }) => {
        const query = given({ after: activity.at(-1)?.id, limit: 1, wait_seconds: watchSeconds })
        return this.#call(audit.events, { params: { id: projectId }, query }, { signal, timeoutMs })
      },
    )
  }

  /**
   * Changes the given fields of a project and of its policy. A policy field of null returns to the default.
   * Returns the whole project.
   *
   * @throws name_taken, not_found
   */
  change(projectId: string, change: ProjectProfileInput, options: CallOptions = {}): Promise<Project> {
    return this.#call(entries.change, { params: { id: projectId }, body: change }, options)
  }

  /**
   * Activates, pauses or archives a project. Setting its current state again has no effect.
   *
   * @throws state_conflict from archived to active, since an archived project must be paused first; not_found.
   */
  setState(projectId: string, state: ProjectState, options: CallOptions = {}): Promise<ProjectStateInput> {
    return this.#call(entries.setState, { params: { id: projectId }, body: { state } }, options)
  }

  /**
   * Deletes a project permanently, including its agents, conversations and audit. `confirmName` is its exact
   * name.
   *
   * @throws invalid_request for another name, reauth_required (see `owner.signIn.confirm`), not_found, or
   *   not_permitted for a project administrator.
   */
  delete(projectId: string, confirmName: string, options: CallOptions = {}): Promise<ProjectDeleted> {
    return this.#call(
      entries.delete,
      { params: { id: projectId }, body: { confirm_name: confirmName } },
      options,
    )
  }
}
