/**
 * Owner: an owner's session with one node. It holds the resources below and shares nothing with a Bridge.
 *
 * - https, or http to this machine itself; no option loosens that.
 * - Nothing of the password is kept; the cookie is in no error, log or inspected object.
 * - Wherever a call takes the id of a project, an agent, an environment or an administrator, it takes the name too.
 *   Text in the form of an id is an id. A name that is unknown is LocalError `name_unknown`, which lists the names.
 *
 * Contract §10 "Sign-in", §13.
 */
import { randomBytes } from 'node:crypto'
import { inspect } from 'node:util'
import type { Client } from '../contract/agent/enrollments.ts'
import { type OwnerSession, signIn } from '../contract/owner/sign-in.ts'
import { nodeHealth } from '../node-status.ts'
import type { Call } from '../resources/call.ts'
import { OwnerAdministrators } from '../resources/owner/administrators.ts'
import { OwnerAgents } from '../resources/owner/agents.ts'
import { OwnerAudit } from '../resources/owner/audit.ts'
import { OwnerConversations } from '../resources/owner/conversations.ts'
import { OwnerCredentials } from '../resources/owner/credentials.ts'
import { OwnerEnrollments } from '../resources/owner/enrollments.ts'
import { OwnerEnvironments } from '../resources/owner/environments.ts'
import { OwnerMessages } from '../resources/owner/messages.ts'
import { OwnerPairings } from '../resources/owner/pairings.ts'
import { OwnerProjects } from '../resources/owner/projects.ts'
import { OwnerRecipientKeys } from '../resources/owner/recipient-keys.ts'
import { OwnerSignIn } from '../resources/owner/sign-in.ts'
import { OwnerTakeovers } from '../resources/owner/takeovers.ts'
import { OwnerTasks } from '../resources/owner/tasks.ts'
import { OwnerTelemetry } from '../resources/owner/telemetry.ts'
import { OwnerTransfers } from '../resources/owner/transfers.ts'
import { type Address, parseBaseUrl } from '../transport/address.ts'
import { LocalError } from '../transport/failures.ts'
import { type Fetch, type Pool, pooledFetch } from '../transport/fetch.ts'
import { type CallOptions, Transport } from '../transport/http.ts'
import { defaultClient, userAgentOf } from '../version.ts'
import { isOrigin, OwnerCookie } from './cookie.ts'
import { OwnerNames } from './names.ts'

/** What an {@link Owner} may be given; all of it has defaults. */
export interface OwnerOptions {
  /** Named to the node; its owner sees it in the list of sessions. */
  readonly client?: Client | undefined
  readonly fetch?: Fetch | undefined
  readonly random?: ((bytes: number) => Buffer) | undefined
}

/** How {@link Owner.resume} goes on. */
export interface OwnerResumeOptions extends OwnerOptions {
  /** Reads again what was kept. Asked when the cookie is refused: another process may have confirmed the password. */
  readonly reload?: (() => Promise<KeptSignIn | undefined>) | undefined
}

/** Where to sign in. */
export interface SignInOptions extends OwnerOptions, CallOptions {
  readonly baseUrl: string
}

/** A name and its password, or the token of a one-time link that was made on the node's host. */
export type SignInWith = { readonly name: string; readonly password: string } | { readonly linkToken: string }

/** The link of a fresh node, and the name and password of its owner-to-be. */
export interface SetupWith {
  /** The part of the set-up link after `#`. */
  readonly token: string
  readonly name: string
  readonly password: string
}

/**
 * What a program keeps between its runs to go on with a session. The cookie is a secret: a file of it is 0600. A
 * confirmation changes it, so it is kept anew after each.
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

export class Owner {
  readonly signIn: OwnerSignIn
  readonly administrators: OwnerAdministrators
  readonly projects: OwnerProjects
  readonly environments: OwnerEnvironments
  readonly agents: OwnerAgents
  readonly pairings: OwnerPairings
  readonly enrollments: OwnerEnrollments
  readonly credentials: OwnerCredentials
  readonly takeovers: OwnerTakeovers
  readonly recipientKeys: OwnerRecipientKeys
  readonly messages: OwnerMessages
  readonly conversations: OwnerConversations
  readonly audit: OwnerAudit
  readonly telemetry: OwnerTelemetry
  readonly tasks: OwnerTasks
  readonly transfers: OwnerTransfers
  /** As the node answered at sign-in; undefined after {@link Owner.resume}, where `signIn.current()` asks. */
  readonly session: OwnerSession | undefined
  readonly #parts: Parts

  private constructor(parts: Parts, session?: OwnerSession) {
    const plain: Call = (entry, input, options) => parts.transport.call(entry, input, options)
    const names = new OwnerNames(plain, () => performance.now())
    const call: Call = (entry, input, options) => names.call(entry, input, options)
    this.#parts = parts
    this.session = session
    this.signIn = new OwnerSignIn(call)
    this.administrators = new OwnerAdministrators(call)
    this.projects = new OwnerProjects(call)
    this.environments = new OwnerEnvironments(call)
    this.agents = new OwnerAgents(call)
    this.pairings = new OwnerPairings(call)
    this.enrollments = new OwnerEnrollments(call)
    this.credentials = new OwnerCredentials(call)
    this.takeovers = new OwnerTakeovers(call)
    this.recipientKeys = new OwnerRecipientKeys(call)
    this.messages = new OwnerMessages(call)
    this.conversations = new OwnerConversations(call)
    this.audit = new OwnerAudit(call)
    this.telemetry = new OwnerTelemetry(call)
    this.tasks = new OwnerTasks(call)
    this.transfers = new OwnerTransfers(call)
  }

  /**
   * Create the owner of a fresh node, and sign in.
   *
   * @throws BridgeError `sign_in_failed` for a token that is unknown, used or expired; `setup_done` for ever after;
   *   `invalid_request` for a weak password.
   */
  static setup(options: SignInOptions & SetupWith): Promise<Owner> {
    const { token, name, password } = options
    return Owner.#begin(options, (transport) =>
      transport.call(signIn.setup, { body: { token, name, password } }, options),
    )
  }

  /** @throws BridgeError `sign_in_failed`; `rate_limited` after several failures. LocalError `insecure_url`. */
  static signIn(options: SignInOptions & SignInWith): Promise<Owner> {
    const body =
      'linkToken' in options
        ? { link_token: options.linkToken }
        : { name: options.name, password: options.password }
    return Owner.#begin(options, (transport) => transport.call(signIn.start, { body }, options))
  }

  /**
   * Go on with a session that {@link keep} handed out. Asks the node nothing.
   *
   * @throws LocalError `identity_unreadable` when what was kept is not usable.
   */
  static resume(kept: KeptSignIn, options: OwnerResumeOptions = {}): Owner {
    const cookie = new OwnerCookie(kept.portal_origin, kept.cookie, async () => {
      const stored = await options.reload?.()
      const isSame = stored?.base_url === kept.base_url && stored.portal_origin === kept.portal_origin
      return isSame ? stored.cookie : undefined
    })
    return new Owner(connect(parseBaseUrl(kept.base_url), cookie, options))
  }

  /** Learn the portal's origin, then sign in with it. */
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
      throw new LocalError('bad_response', 'the node signed in but handed out no session cookie')
    } catch (error) {
      await parts.pool.close()
      throw error
    }
  }

  /** What {@link Owner.resume} needs; undefined when the session was signed out. Holds the cookie. */
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

  /** End the connections. The session goes on: `signIn.close()` ends it. */
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
