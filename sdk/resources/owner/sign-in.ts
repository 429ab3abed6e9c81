/**
 * The owner's session: who is signed in, confirming the password, and signing out. `Owner.signIn` starts one.
 * Contract §10.
 */
import type { ResponseOf } from '../../contract/endpoint.ts'
import { limits } from '../../contract/limits.ts'
import { signIn as entries, type OwnerSession, type OwnerSessionEnded } from '../../contract/owner/sign-in.ts'
import type { CallOptions } from '../../transport/http.ts'
import { type Call, everyItem, given, type PageOptions } from '../call.ts'

export class OwnerSignIn {
  readonly #call: Call

  constructor(call: Call) {
    this.#call = call
  }

  /** Reads who is signed in, and until when. @throws owner_session_expired */
  current(options: CallOptions = {}): Promise<OwnerSession> {
    return this.#call(entries.current, {}, options)
  }

  /** Signs out. Only this session ends. @throws owner_session_expired */
  close(options: CallOptions = {}): Promise<OwnerSessionEnded> {
    return this.#call(entries.close, { body: {} }, options)
  }

  /**
   * Confirms the password, which allows dangerous actions for ten minutes. It changes the session's cookie:
   * store the result of `owner.keep()` again.
   *
   * @throws sign_in_failed for a wrong password, rate_limited after several.
   */
  confirm(password: string, options: CallOptions = {}): Promise<OwnerSession> {
    return this.#call(entries.confirm, { body: { password } }, options)
  }

  /**
   * Changes the password. Every session ends, including this one.
   *
   * @throws reauth_required; invalid_request if it is too short.
   */
  changePassword(newPassword: string, options: CallOptions = {}): Promise<OwnerSessionEnded> {
    return this.#call(entries.password, { body: { new_password: newPassword } }, options)
  }

  /** One page of the caller's own sessions. */
  list({
    after,
    limit,
    ...options
  }: PageOptions & CallOptions = {}): Promise<ResponseOf<typeof entries.list>> {
    return this.#call(entries.list, { query: given({ after, limit }) }, options)
  }

  /** Yields every session of the caller, page after page. */
  all(options: CallOptions = {}): AsyncGenerator<OwnerSession, void, undefined> {
    const read = (after: string | undefined) => this.list({ ...options, after, limit: limits.pageMax })
    return everyItem(read, (page) => page.sessions)
  }

  /** Ends one of the caller's own sessions. @throws not_found */
  revoke(sessionId: string, options: CallOptions = {}): Promise<OwnerSessionEnded> {
    return this.#call(entries.revoke, { params: { id: sessionId }, body: {} }, options)
  }
}
