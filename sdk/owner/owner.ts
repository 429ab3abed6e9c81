/**
 * Owner: the session of an owner or administrator with one node. It shares nothing with a Bridge.
 *
 * - The address must be https, or http to this machine. No option allows plain http to another host.
 * - The password is not stored. The cookie appears in no error, log or inspected object.
 * - Wherever a call takes the id of a project, an agent, an environment or an administrator, it takes the
 *   name too. Text in the form of an id is an id. A name that is unknown is LocalError `name_unknown`, which
 *   lists the names.
 *
 * Contract §10 "Sign-in", §13.
 */
import { randomBytes } from 'node:crypto'
import { inspect } from 'node:util'
import type { Client } from '../contract/agent/enrollments.ts'
import { type OwnerSession, signIn } from '../contract/owner/sign-in.ts'
import { nodeHealth } from '../node-status.ts'
import type { Call } from '../resources/call.ts'
import { type Address, parseBaseUrl } from '../transport/address.ts'
import { LocalError } from '../transport/failures.ts'
import { type Fetch, type Pool, pooledFetch } from '../transport/fetch.ts'
import { type CallOptions, Transport } from '../transport/http.ts'
import { defaultClient, userAgentOf } from '../version.ts'
import { isOrigin, OwnerCookie } from './cookie.ts'
import { OwnerNames } from './names.ts'
import { OwnerResources } from './owner-resources.ts'

/** Options of an {@link Owner}. All have defaults. */
export interface OwnerOptions {
  /** Name and version of this program, which the owner sees in the list of sessions. */
  readonly client?: Client | undefined
  readonly fetch?: Fetch | undefined
  readonly random?: ((bytes: number) => Buffer) | undefined
}

/** Options of {@link Owner.resume}. */
export interface OwnerResumeOptions extends OwnerOptions {
  /**
   * Reads the stored sign-in again. Called if the cookie is refused, since another process may have confirmed
   * the password.
   */
  readonly reload?: (() => Promise<KeptSignIn | undefined>) | undefined
}

/** Options of a sign-in: the address of the node. */
export interface SignInOptions extends OwnerOptions, CallOptions {
  readonly baseUrl: string
}

/**
 * Name and password, or the token of a one-time link that `bridge server owner-link` created on the node's
 * host.
 */
export type SignInWith = { readonly name: string; readonly password: string } | { readonly linkToken: string }

/** Token from the set-up link of a new node, and name and password for its owner. */
export interface SetupWith {
  /** The part of the set-up link after `#`. */
  readonly token: string
  readonly name: string
  readonly password: string
}

/**
 * Data that a program stores to resume a session in its next run. The cookie is a secret: store it with mode
 * 0600. Store the data again after each confirmed password, which changes the cookie.
 */
export interface KeptSignIn {
  readonly base_url: string
  readonly portal_origin: string
  readonly cookie: string
}

interface Parts {
  readonly address: Address
  readonly cookie: OwnerCookie
  readonly transport: Transport
  readonly pool: Pool
}

export class Owner extends OwnerResources {
  /**
   * Session from the answer to the sign-in. Undefined after {@link Owner.resume}; call `signIn.current()`
   * then.
   */
  readonly session: OwnerSession | undefined
  readonly #parts: Parts

  private constructor(parts: Parts, session?: OwnerSession) {
    const plain: Call = (entry, input, options) => parts.transport.call(entry, input, options)
    const names = new OwnerNames(plain, () => performance.now())
    const call: Call = (entry, input, options) => names.call(entry, input, options)
    super(call)
    this.#parts = parts
    this.session = session
  }

  /**
   * Creates the owner of a new node, and signs in.
   *
   * @throws BridgeError `sign_in_failed` if the token is unknown, used or expired, `setup_done` if the owner
   *   already exists, or `invalid_request` for a weak password.
   */
  static setup(options: SignInOptions & SetupWith): Promise<Owner> {
    const { token, name, password } = options
    return Owner.#begin(options, (transport) =>
      transport.call(signIn.setup, { body: { token, name, password } }, options),
    )
  }

  /**
   * Signs in.
   *
   * @throws BridgeError `sign_in_failed`; `rate_limited` after several failures. LocalError `insecure_url`.
   */
  static signIn(options: SignInOptions & SignInWith): Promise<Owner> {
    const body =
      'linkToken' in options
        ? { link_token: options.linkToken }
        : { name: options.name, password: options.password }
    return Owner.#begin(options, (transport) => transport.call(signIn.start, { body }, options))
  }

  /**
   * Resumes a session from the data of {@link keep}. Sends no request.
   *
   * @throws LocalError `identity_unreadable` if the data is malformed.
   */
  static resume(kept: KeptSignIn, options: OwnerResumeOptions = {}): Owner {
    const cookie = new OwnerCookie(kept.portal_origin, kept.cookie, async () => {
      const stored = await options.reload?.()
      const isSame = stored?.base_url === kept.base_url && stored.portal_origin === kept.portal_origin
      return isSame ? stored.cookie : undefined
    })
    return new Owner(connect(parseBaseUrl(kept.base_url), cookie, options))
  }

  /** Reads the portal's origin from the node, then signs in with it. */
  static async #begin(
    options: SignInOptions,
    start: (transport: Transport) => Promise<OwnerSession>,
  ): Promise<Owner> {
    const address = parseBaseUrl(options.baseUrl)
    const first = connect(address, new OwnerCookie(address.origin), options)
    const { portal_origin } = await nodeHealth(first.transport, options).finally(() => first.pool.close())
    if (!isOrigin(portal_origin)) {
      throw new LocalError('bad_response', 'GET /api/health: portal_origin is not an origin')
    }
    const parts = connect(address, new OwnerCookie(portal_origin), options)
    try {
      const session = await start(parts.transport)
      if (parts.cookie.reveal() !== undefined) return new Owner(parts, session)
      throw new LocalError('bad_response', 'the node accepted the sign-in but set no session cookie')
    } catch (error) {
      await parts.pool.close()
      throw error
    }
  }

  /**
   * Returns the data for {@link Owner.resume}, including the secret cookie. Undefined if the owner signed
   * out.
   */
  keep(): KeptSignIn | undefined {
    const { address, cookie } = this.#parts
    const value = cookie.reveal()
    if (value === undefined) return undefined
    return {
      base_url: `${address.origin}${address.prefix}`,
      portal_origin: cookie.portalOrigin,
      cookie: value,
    }
  }

  /** Closes the connections. The session stays valid; `signIn.close()` ends it. */
  close(): Promise<void> {
    return this.#parts.pool.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  [inspect.custom](): string {
    const { address, cookie } = this.#parts
    return `Owner { ${this.session?.user.name ?? 'resumed'} at ${address.origin}${address.prefix}, origin ${cookie.portalOrigin} }`
  }
}

function connect(address: Address, cookie: OwnerCookie, options: OwnerOptions): Parts {
  const pool = pooledFetch()
  const transport = new Transport({
    address,
    authority: cookie,
    fetch: options.fetch ?? pool.fetch,
    random: options.random ?? randomBytes,
    userAgent: userAgentOf(options.client ?? defaultClient),
  })
  return { address, cookie, transport, pool }
}
