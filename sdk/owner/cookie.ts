/**
 * What proves an owner's session: the cookie, and the Origin that the node expects. Both are pinned at sign-in.
 *
 * - The cookie goes to the endpoints of a signed-in owner and to no other, the Origin to every POST of an owner.
 * - A confirmation changes the cookie. A call that was refused with the one before is sent once more with the new one,
 *   which another process of the same sign-in may have stored.
 * - The cookie is never a property: inspecting, logging or serializing shows the origin only.
 *
 * "The CLI is another user agent of the same session: it sends the cookie and the Origin, both pinned at sign-in."
 * Contract §10.
 */
import { inspect } from 'node:util'
import { headers } from '../contract/headers.ts'
import { type BridgeError, LocalError } from '../transport/failures.ts'
import type { FetchResponse } from '../transport/fetch.ts'
import type { Authority, PreparedRequest } from '../transport/http.ts'

/** Reads the cookie that is stored now; undefined when there is none for this sign-in. */
export type ReadCookie = () => Promise<string | undefined>

/** The server's two names (contract §10) and a 256-bit token. */
const usable = /^(?:__Host-bridge_owner|bridge_owner_dev)=[A-Za-z0-9_-]{43}$/

/** Every cookie of ours in a Set-Cookie header; an empty one ends the session. */
const given = /(?:^|, ?)((?:__Host-bridge_owner|bridge_owner_dev)=[^;,]*)/g

export class OwnerCookie implements Authority {
  readonly portalOrigin: string
  #cookie: string | undefined
  readonly #readStored: ReadCookie | undefined
  readonly #sent = new WeakMap<PreparedRequest, string>()

  /** @throws LocalError `identity_unreadable` for a stored cookie or origin that is of no usable form. */
  constructor(portalOrigin: string, cookie?: string, readStored?: ReadCookie) {
    const isUsable = isOrigin(portalOrigin) && (cookie === undefined || usable.test(cookie))
    if (!isUsable) throw new LocalError('identity_unreadable', 'the stored sign-in cannot be used')
    this.portalOrigin = portalOrigin
    this.#cookie = cookie
    this.#readStored = readStored
  }

  /** For the store that keeps a session between runs; undefined when there is none. A secret. */
  reveal(): string | undefined {
    return this.#cookie
  }

  /** @throws LocalError `identity_missing` when the session was signed out. */
  headers(request: PreparedRequest): Record<string, string> {
    const { caller, method } = request
    if (caller !== 'owner' && caller !== 'owner-signing-in') return {}
    const origin = method === 'POST' ? { [headers.origin]: this.portalOrigin } : {}
    if (caller === 'owner-signing-in') return origin
    if (this.#cookie === undefined) throw new LocalError('identity_missing', 'the owner is not signed in')
    this.#sent.set(request, this.#cookie)
    return { ...origin, cookie: this.#cookie }
  }

  async mend({ code }: BridgeError, request: PreparedRequest, mended: Set<string>): Promise<boolean> {
    if (code !== 'owner_session_expired' || mended.has(code)) return false
    mended.add(code)
    const sent = this.#sent.get(request)
    const stored = this.#cookie === sent ? await this.#readStored?.() : undefined
    if (stored !== undefined && usable.test(stored)) this.#cookie = stored
    return this.#cookie !== undefined && this.#cookie !== sent
  }

  /** Takes the cookie of a success; a refusal changes nothing. */
  answered({ status, headers: answer }: FetchResponse): void {
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

/** Whether a text is what a browser would send as Origin. */
export const isOrigin = (text: unknown): text is string =>
  typeof text === 'string' && /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text
