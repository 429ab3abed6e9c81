/**
 * Authorization of an owner's session: the cookie, and the Origin that the node expects. Both are fixed at
 * sign-in.
 *
 * - The cookie is sent only to endpoints of a signed-in owner, the Origin with every POST of an owner.
 * - A confirmed password changes the cookie. If a call is refused with the old cookie, it is sent once more
 *   with the new one, which another process of the same sign-in may have stored.
 * - The node refuses an open wait as soon as it changes the cookie, so the refusal may arrive before the new
 *   cookie does. A sign-in that the node accepted before is therefore given a few seconds to get it.
 * - The cookie is held in a private field. Inspecting, logging or serializing shows only the origin.
 *
 * "The CLI is another user agent of the same session: it sends the cookie and the Origin, both pinned at
 * sign-in." Contract §10.
 */
import { inspect } from 'node:util'
import { headers } from '../contract/headers.ts'
import { type BridgeError, LocalError } from '../transport/failures.ts'
import type { FetchResponse } from '../transport/fetch.ts'
import type { Authority, CallOptions, PreparedRequest } from '../transport/http.ts'
import { pause } from '../transport/pause.ts'

/** Reads the currently stored cookie, or undefined if there is none for this sign-in. */
export type ReadCookie = () => Promise<string | undefined>

/** Cookie with one of the node's two names (contract §10) and a 256-bit token. */
const usable = /^(?:__Host-bridge_owner|bridge_owner_dev)=[A-Za-z0-9_-]{43}$/

/** Matches each session cookie in a Set-Cookie header. An empty value ends the session. */
const given = /(?:^|, ?)((?:__Host-bridge_owner|bridge_owner_dev)=[^;,]*)/g

/** A refused call looks this often for the new cookie of a confirmation that is under way: for three seconds. */
const looks = 60
const lookEveryMs = 50

export class OwnerCookie implements Authority {
  readonly portalOrigin: string
  #cookie: string | undefined
  readonly #readStored: ReadCookie | undefined
  readonly #sent = new WeakMap<PreparedRequest, string>()
  #wasAccepted = false

  /** @throws LocalError `identity_unreadable` if the stored cookie or origin is malformed. */
  constructor(portalOrigin: string, cookie?: string, readStored?: ReadCookie) {
    const isUsable = isOrigin(portalOrigin) && (cookie === undefined || usable.test(cookie))
    if (!isUsable) throw new LocalError('identity_unreadable', 'the stored sign-in cannot be used')
    this.portalOrigin = portalOrigin
    this.#cookie = cookie
    this.#readStored = readStored
  }

  /** Returns the cookie, a secret, for storage between runs. Undefined if there is none. */
  reveal(): string | undefined {
    return this.#cookie
  }

  /** Returns the authorization headers. @throws LocalError `identity_missing` if the owner signed out. */
  headers(request: PreparedRequest): Record<string, string> {
    const { caller, method } = request
    if (caller !== 'owner' && caller !== 'owner-signing-in') return {}
    const origin = method === 'POST' ? { [headers.origin]: this.portalOrigin } : {}
    if (caller === 'owner-signing-in') return origin
    if (this.#cookie === undefined) throw new LocalError('identity_missing', 'the owner is not signed in')
    this.#sent.set(request, this.#cookie)
    return { ...origin, cookie: this.#cookie }
  }

  async recover(
    { code }: BridgeError,
    request: PreparedRequest,
    tried: Set<string>,
    { signal }: CallOptions = {},
  ): Promise<boolean> {
    if (code !== 'owner_session_expired' || tried.has(code)) return false
    tried.add(code)
    const sent = this.#sent.get(request)
    for (let left = this.#wasAccepted ? looks : 0; !(await this.#isOtherThan(sent)); left -= 1) {
      if (left === 0 || signal?.aborted) {
        // The sign-in has ended, so the next refused call does not wait.
        this.#wasAccepted = false
        return false
      }
      await pause(lookEveryMs, signal).catch(() => {})
    }
    return this.#cookie !== undefined
  }

  /** Returns whether the cookie differs from the one that was sent, after a look at the stored one. */
  async #isOtherThan(sent: string | undefined): Promise<boolean> {
    const stored = this.#cookie === sent ? await this.#readStored?.() : undefined
    if (stored !== undefined && usable.test(stored)) this.#cookie = stored
    return this.#cookie !== sent
  }

  /** Stores the cookie that a success sets. A refusal does not change it. */
  answered({ status, headers: answer }: FetchResponse): void {
    this.#wasAccepted ||= status === 200
    const cookies = [...(answer.get('set-cookie') ?? '').matchAll(given)].map(([, cookie]) => cookie)
    if (status !== 200 || cookies.length !== 1) return
    const [cookie = ''] = cookies
    this.#cookie = usable.test(cookie) ? cookie : undefined
  }

  toJSON(): object {
    return { portal_origin: this.portalOrigin }
  }

  [inspect.custom](): string {
    return `OwnerCookie for ${this.portalOrigin}`
  }
}

/** Returns true if a browser could send the text as Origin. */
export const isOrigin = (text: unknown): text is string =>
  typeof text === 'string' && /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text
