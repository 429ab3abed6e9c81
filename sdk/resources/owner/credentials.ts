/** Credentials, as their owner sees them: never a secret. Contract §3. */
import type { ResponseOf } from '../../contract/endpoint.ts'
import { credentials as entries, type RevokeResult } from '../../contract/owner/credentials.ts'
import { type CallOptions, type OwnerCall, type PageOptions, pageQuery } from './call.ts'

export class OwnerCredentials {
  readonly #call: OwnerCall

  constructor(call: OwnerCall) {
    this.#call = call
  }

  /** One page of a project's credentials, revoked ones included. @throws not_found */
  list(projectId: string, page: PageOptions & CallOptions = {}): Promise<ResponseOf<typeof entries.list>> {
    return this.#call(entries.list, { params: { id: projectId }, query: pageQuery(page) }, page)
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
