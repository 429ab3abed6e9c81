/**
 * Session of a profile, shared by all of its processes.
 *
 * - The stored session id is used without asking the node. A session is started only if there is none, or if
 *   the node answers `session_closed` or `session_unknown`. A fenced session is never replaced: the caller
 *   gets `session_fenced`.
 * - The node resumes the active session for the same instance id, so two processes that start together get
 *   the same session.
 * - If another process of the profile closed the session deliberately, it stays closed.
 *
 * Contract §5.
 */
import type { Client } from '../contract/agent/enrollments.ts'
import { type Session, type SessionInput, type SessionPolicy, sessions } from '../contract/agent/sessions.ts'
import { BridgeError } from '../transport/failures.ts'
import type { CallOptions, Transport } from '../transport/http.ts'

/** Stored session of a program between its runs. */
export interface StoredSession {
  /** Generated once per profile. */
  readonly instance_id: string
  /** Null if no session was started, or it was closed. */
  readonly session_id: string | null
  readonly generation: number | null
  readonly policy: SessionPolicy | null
  /** Milliseconds to add to this machine's clock to get the node's time. */
  readonly clock_offset_ms: number
}

/** Store of a session between runs. Several processes may share one. */
export interface SessionStore {
  load(): Promise<StoredSession>
  save(session: StoredSession): Promise<void>
}

/** Returns a store in memory, for a client in one process. */
export function memorySessions(instanceId: string): SessionStore {
  let stored = blankSession(instanceId)
  return {
    load: async () => stored,
    save: async (session) => {
      stored = session
    },
  }
}

/** Returns the stored session of a new profile: its instance id and no session. */
export const blankSession = (instanceId: string): StoredSession => ({
  instance_id: instanceId,
  session_id: null,
  generation: null,
  policy: null,
  clock_offset_ms: 0,
})

export interface StartOptions extends CallOptions {
  /** Challenge for a device-bound identity. If absent, it is fetched. */
  readonly challenge?: string | undefined
  /**
   * Takeover grant from the owner, which fenced the old session. Until it expires, only its holder can start
   * a session.
   */
  readonly takeoverGrant?: string | undefined
}

export interface SessionKeeperOptions {
  readonly store: SessionStore
  readonly transport: () => Transport
  readonly client: Client
  /** True for a device-bound identity, which needs a fresh challenge at every start or resume. */
  readonly needsChallenge: boolean
}

/** Holds the session for a Bridge. */
export class SessionKeeper {
  readonly #store: SessionStore
  readonly #transport: () => Transport
  readonly #client: Client
  readonly #needsChallenge: boolean
  #held: StoredSession | undefined
  #starting: Promise<Session> | undefined

  constructor({ store, transport, client, needsChallenge }: SessionKeeperOptions) {
    this.#store = store
    this.#transport = transport
    this.#client = client
    this.#needsChallenge = needsChallenge
  }

  /** Session id for the header. Call {@link ready} first. */
  get sessionId(): string | undefined {
    return this.#held?.session_id ?? undefined
  }

  get clockOffsetMs(): number {
    return this.#held?.clock_offset_ms ?? 0
  }

  /** Returns the session as this process knows it, loaded on first use. */
  async stored(): Promise<StoredSession> {
    this.#held ??= await this.#store.load()
    return this.#held
  }

  /** Starts a session if none is stored. */
  async ready(options: CallOptions): Promise<void> {
    if ((await this.stored()).session_id === null) await this.start(options)
  }

  /**
   * Starts a session, or resumes the active one. Concurrent calls share one start, except a call with a
   * grant.
   */
  start(options: StartOptions = {}): Promise<Session> {
    if (options.takeoverGrant === undefined && this.#starting !== undefined) return this.#starting
    const starting = this.#start(options).finally(() => {
      if (this.#starting === starting) this.#starting = undefined
    })
    this.#starting = starting
    return starting
  }

  async #start({ challenge, takeoverGrant, ...options }: StartOptions): Promise<Session> {
    const before = await this.stored()
    const answer = challenge ?? (await this.#challenge(options))
    const body: SessionInput = {
      instance_id: before.instance_id,
      client: this.#client,
      ...(answer === undefined ? {} : { challenge: answer }),
      ...(takeoverGrant === undefined ? {} : { takeover_grant: takeoverGrant }),
    }
    const session = await this.#transport().call(sessions.start, { body }, options)
    const { id, generation, policy } = session
    const { clockOffsetMs: clock_offset_ms } = this
    await this.#keep({ ...before, session_id: id, generation, policy, clock_offset_ms })
    return session
  }

  /** Fetches a challenge for one start. It is single-use and valid for 60 seconds. */
  async #challenge(options: CallOptions): Promise<string | undefined> {
    if (!this.#needsChallenge) return undefined
    return (await this.#transport().call(sessions.challenge, { body: {} }, options)).challenge
  }

  /**
   * Closes the session deliberately. The store is updated before the request, because the node ends the open
   * long-polls of other processes immediately. They must find in the store that the end was deliberate.
   */
  async end<T>(close: () => Promise<T>): Promise<T> {
    await this.#store.save({ ...(await this.stored()), session_id: null, generation: null })
    try {
      return await close()
    } finally {
      this.#held = await this.#store.load()
    }
  }

  /**
   * Handles `session_closed` and `session_unknown`. Returns true if there is another session to continue
   * with.
   */
  async replace(lost: string | undefined, refusal: BridgeError, options: CallOptions): Promise<boolean> {
    const held = await this.stored()
    const stored = await this.#store.load()
    this.#held = { ...stored, clock_offset_ms: held.clock_offset_ms }
    if (stored.session_id !== null && stored.session_id !== lost) return true
    const wasClosedHere = stored.session_id === null && refusal.code === 'session_closed'
    if (wasClosedHere) return false
    await this.start(options)
    return true
  }

  /** Returns whether the session is closed because a process of the profile closed it deliberately. */
  async wasClosedHere(failure: unknown): Promise<boolean> {
    const isClosed = failure instanceof BridgeError && failure.code === 'session_closed'
    // The session that this process holds may be older than the end of it.
    return isClosed && (await this.#store.load()).session_id === null
  }

  async correctClock(offsetMs: number): Promise<void> {
    const held = await this.stored()
    this.#held = { ...held, clock_offset_ms: offsetMs }
    // Another process may have started a session meanwhile.
    await this.#store.save({ ...(await this.#store.load()), clock_offset_ms: offsetMs })
  }

  async #keep(session: StoredSession): Promise<void> {
    this.#held = session
    await this.#store.save(session)
  }
}
