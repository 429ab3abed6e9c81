/** Credentials, as their owner sees them: a secret is shown once, when it is issued. Contract §3. */
import type { ResponseOf } from '../../contract/endpoint.ts'
import { limits } from '../../contract/limits.ts'
import {
  type Credential,
  type CredentialInput,
  type CredentialIssued,
  credentials as entries,
  type RevokeResult,
} from '../../contract/owner/credentials.ts'
import type { CallOptions } from '../../transport/http.ts'
import { type Call, everyItem, given, type OfAgent, type PageOptions } from '../call.ts'

export class OwnerCredentials {
  readonly #call: Call

  constructor(call: Call) {
    this.#call = call
  }

  /**
   * Issue a legacy credential, whose secret is in this answer and nowhere else; `replaces` revokes another one at once.
   * Prefer `owner.enrollments.create`: a secret that travels can be taken on its way.
   *
   * @throws reauth_required (see `owner.signIn.confirm`), agent_disabled, project_archived, not_found.
   */
  issue(
    projectId: string,
    agentId: string,
    input: CredentialInput,
    options: CallOptions = {},
  ): Promise<CredentialIssued> {
    return this.#call(entries.issue, { params: { id: projectId, agent_id: agentId }, body: input }, options)
  }

  /** One page of a project's credentials, revoked ones included. @throws not_found */
  list(
    projectId: string,
    { after, limit, agentId, ...options }: PageOptions & OfAgent & CallOptions = {},
  ): Promise<ResponseOf<typeof entries.list>> {
    const query = given({ after, limit, agent_id: agentId })
    return this.#call(entries.list, { params: { id: projectId }, query }, options)
  }

  /** Every credential of a project, page after page. @throws not_found */
  all(projectId: string, options: OfAgent & CallOptions = {}): AsyncGenerator<Credential, void, undefined> {
    const read = (after: string | undefined) =>
      this.list(projectId, { ...options, after, limit: limits.pageMax })
    return everyItem(read, (page) => page.credentials)
  }

  /** One of them; never its secret. @throws not_found */
  get(projectId: string, credentialId: string, options: CallOptions = {}): Promise<Credential> {
    return this.#call(entries.get, { params: { id: projectId, credential_id: credentialId } }, options)
  }

  /**
   * Revoke for good; its sessions are fenced and its waits end at once. Twice is not an error: `already` tells.
   *
   * @throws not_found
   */
  revoke(projectId: string, credentialId: string, options: CallOptions = {}): Promise<RevokeResult> {
    return this.#call(
      entries.revoke,
      { params: { id: projectId, credential_id: credentialId }, body: {} },
      options,
    )
  }
}
