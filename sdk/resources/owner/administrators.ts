/**
 * Administrators: people to whom the owner gives access to projects. Only the owner may call this. Contract
 * §10.
 */
import type { ResponseOf } from '../../contract/endpoint.ts'
import { limits } from '../../contract/limits.ts'
import {
  type Administrator,
  type AdministratorInput,
  type AdministratorLink,
  type AdministratorLinkInput,
  type AdministratorStateInput,
  administrators as entries,
} from '../../contract/owner/administrators.ts'
import type { CallOptions } from '../../transport/http.ts'
import { type Call, everyItem, given, type Ordered, type PageOptions } from '../call.ts'

export class OwnerAdministrators {
  readonly #call: Call

  constructor(call: Call) {
    this.#call = call
  }

  /** One page of the administrators, oldest first. @throws not_permitted for an administrator. */
  list({
    after,
    limit,
    order,
    ...options
  }: PageOptions & Ordered & CallOptions = {}): Promise<ResponseOf<typeof entries.list>> {
    return this.#call(entries.list, { query: given({ after, limit, order }) }, options)
  }

  /** Every administrator, page after page. @throws not_permitted */
  all(options: Ordered & CallOptions = {}): AsyncGenerator<Administrator, void, undefined> {
    const read = (after: string | undefined) => this.list({ ...options, after, limit: limits.pageMax })
    return everyItem(read, (page) => page.administrators)
  }

  /**
   * Creates an administrator without projects. The answer holds a single-use sign-in link, which is shown
   * only here. The person who opens it chooses the password.
   *
   * @throws name_taken, reauth_required (see `owner.signIn.confirm`), not_permitted.
   */
  create(input: AdministratorInput, options: CallOptions = {}): Promise<AdministratorLink> {
    return this.#call(entries.create, { body: input }, options)
  }

  /**
   * Issues a new one-time link, for example after a lost password. It replaces the previous one.
   *
   * @throws not_found, state_conflict
   */
  link(
    id: string,
    input: AdministratorLinkInput = {},
    options: CallOptions = {},
  ): Promise<AdministratorLink> {
    return this.#call(entries.link, { params: { id }, body: input }, options)
  }

  /**
   * Gives the administrator access to a project. Repeating it has no effect.
   *
   * @throws not_found, reauth_required, not_permitted
   */
  assign(id: string, projectId: string, options: CallOptions = {}): Promise<Administrator> {
    return this.#assign(id, { project_id: projectId, assigned: true }, options)
  }

  /**
   * Withdraws access to a project, from the administrator's next request on.
   *
   * @throws not_found, reauth_required, not_permitted
   */
  unassign(id: string, projectId: string, options: CallOptions = {}): Promise<Administrator> {
    return this.#assign(id, { project_id: projectId, assigned: false }, options)
  }

  #assign(
    id: string,
    body: { project_id: string; assigned: boolean },
    options: CallOptions,
  ): Promise<Administrator> {
    return this.#call(entries.assign, { params: { id }, body }, options)
  }

  /**
   * Enables or disables an administrator. Disabling ends its sessions and links immediately.
   *
   * @throws not_found
   */
  setState(
    id: string,
    state: AdministratorStateInput['state'],
    options: CallOptions = {},
  ): Promise<AdministratorStateInput> {
    return this.#call(entries.setState, { params: { id }, body: { state } }, options)
  }
}
