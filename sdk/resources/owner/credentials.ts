/** Credentials, as the owner manages them. A secret is shown once, when it is issued. Contract §3. */
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
import { type Call, everyItem, given, type OfAgent, type Ordered, type PageOptions } from '../call.ts'

export class OwnerCredentials {
  readonly #call: Call

  constructor(call: Call) {
    this.#call = call
  }

  /**
   * Issues a legacy credential. Only this answer contains its secret. `replaces` revokes another credential
   * in the same step. Prefer `owner.enrollments.create`: with it no secret is sent over the network.
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
    { after, limit, order, agentId, ...options }: PageOptions & Ordered & OfAgent & CallOptions = {},
  ): Promise<ResponseOf<typeof entries.list>> {
    const query = given({ after, limit, order, agent_id: agentId })
    return this.#call(entries.list, { params: { id: projectId }, query }, options)
  }

  /** Every credential of a project, page after page. @throws not_found */
  all(
    projectId: string,
    options: OfAgent & Ordered & CallOptions = {},
  ): AsyncGenerator<Credential, void, undefined> {
    const read = (after: string | undefined) =>
      this.list(projectId, { ...options, after, limit: limits.pageMax })
    return everyItem(read, (page) => page.credentials)
  }

  /** Reads one credential, without its secret. @throws not_found */
  get(projectId: string, credentialId: string, options: CallOptions = {}): Promise<Credential> {
    return this.#call(entries.get, { params: { id: projectId, credential_id: credentialId } }, options)
  }

  /**
   * Revokes a credential permanently. Its sessions are fenced, and its long-polls and streams end
   * immediately. If it was already revoked, the answer says so in `already`.
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
