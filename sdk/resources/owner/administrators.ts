/** Administrators: people to whom the owner hands projects. The owner's alone. Contract §10. */
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
import { type Call, everyItem, given, type PageOptions } from '../call.ts'

export class OwnerAdministrators {
  readonly #call: Call

  constructor(call: Call) {
    this.#call = call
  }

  /** One page of the administrators, oldest first. @throws not_permitted for an administrator. */
  list({
    after,
    limit,
    ...options
  }: PageOptions & CallOptions = {}): Promise<ResponseOf<typeof entries.list>> {
    return this.#call(entries.list, { query: given({ after, limit }) }, options)
  }

  /** Every administrator, page after page. @throws not_permitted */
  all(options: CallOptions = {}): AsyncGenerator<Administrator, void, undefined> {
    const read = (after: string | undefined) => this.list({ ...options, after, limit: limits.pageMax })
    return everyItem(read, (page) => page.administrators)
  }

  /**
   * Create an administrator without a project. The link signs in once: it is in this answer and nowhere else, and
   * whoever follows it chooses the password.
   *
   * @throws name_taken, reauth_required (see `owner.signIn.confirm`), not_permitted.
   */
  create(input: AdministratorInput, options: CallOptions = {}): Promise<AdministratorLink> {
    return this.#call(entries.create, { body: input }, options)
  }

  /** Another one-time link, after a lost password; it takes the place of the last. @throws not_found, state_conflict */
  link(
    id: string,
    input: AdministratorLinkInput = {},
    options: CallOptions = {},
  ): Promise<AdministratorLink> {
    return this.#call(entries.link, { params: { id }, body: input }, options)
  }

  /** Give a project into its hands. Twice is not an error. @throws not_found, reauth_required, not_permitted */
  assign(id: string, projectId: string, options: CallOptions = {}): Promise<Administrator> {
    return this.#assign(id, { project_id: projectId, assigned: true }, options)
  }

  /** Take a project away, which holds from its next request on. @throws not_found, reauth_required, not_permitted */
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

  /** Enable or disable. Disabling ends its sign-ins and links at once. @throws not_found */
  setState(
    id: string,
    state: AdministratorStateInput['state'],
    options: CallOptions = {},
  ): Promise<AdministratorStateInput> {
    return this.#call(entries.setState, { params: { id }, body: { state } }, options)
  }
}
