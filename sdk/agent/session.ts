/**
 * The session of a profile: one for all of its processes.
 *
 * - The id of the last session is used as it stands; a session is started only when there is none, or when the service
 *   says that it closed or forgot it. A fenced session is never replaced from here: `session_fenced` reaches the caller.
 * - The same instance id resumes the active session, so two processes that start at once get the same one.
 * - A session that another process of the profile closed on purpose stays closed.
 *
 * Contract §5.
 */
import type { Client } from '../contract/agent/enrollments.ts'
import { type Session, type SessionInput, type SessionPolicy, sessions } from '../contract/agent/sessions.ts'
import type { BridgeError } from '../transport/failures.ts'
import type { CallOptions, Transport } from '../transport/http.ts'

/**
 * A session as a program keeps it between its runs: ids, generation, and how far the clock is off, in
 * milliseconds.
 */
export interface StoredSession {
  /** Made once for each profile and kept. */
  readonly instance_id: string
  /** Null when there is none: never started, or closed. */
  readonly session_id: string | null
  readonly generation: number | null
  readonly policy: SessionPolicy | null
  /** What to add to this machine's clock to get the node's. */
  readonly clock_offset_ms: number
}

/** Where the session lives between commands. Several processes may share one store. */
export interface SessionStore {
  load(): Promise<StoredSession>
  save(session: StoredSession): Promise<void>
}

/** For a client that lives in one process. */
export function memorySessions(instanceId: string): SessionStore {
  let stored = blankSession(instanceId)
  return {
    load: async () => stored,
    save: async (session) => {
      stored = session
    },
  }
}

/** The state of a new profile: its instance id, and no session. */
export const blankSession = (instanceId: string): StoredSession => ({
  instance_id: instanceId,
  session_id: null,
  generation: null,
  policy: null,
  clock_offset_ms: 0,
})

export interface StartOptions extends CallOptions {
  /** Fetched when absent, where the identity needs one. */
  readonly challenge?: string | undefined
  /** What the owner's takeover handed out: it ends the old session's hold, and only its holder starts the next one. */
  readonly takeoverGrant?: string | undefined
}

export interface SessionKeeperOptions {
  readonly store: SessionStore
  readonly transport: () => Transport
  readonly client: Client
  /** A device-bound identity proves at every start or resume that it signs now. */
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

  /** The id for the header; only after {@link ready}. */
  get sessionId(): string | undefined {
    return this.#held?.session_id ?? undefined
  }

  get clockOffsetMs(): number {
    return this.#held?.clock_offset_ms ?? 0
  }

  /** The stored session, as this process knows it. */
  async stored(): Promise<StoredSession> {
    this.#held ??= await this.#store.load()
    return this.#held
  }

  /** Make sure that there is a session to name. */
  async ready(options: CallOptions): Promise<void> {
    if ((await this.stored()).session_id === null) await this.start(options)
  }

  /** Start a session, or resume the active one. Calls at the same time share one start, unless one brings a grant. */
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

  /** A fresh one for each start: it is used once, within a minute. */
  async #challenge(options: CallOptions): Promise<string | undefined> {
    if (!this.#needsChallenge) return undefined
    return (await this.#transport().call(sessions.challenge, { body: {} }, options)).challenge
  }

  /**
   * The session ends by our own wish. Told to the store before the service is asked: a process that waits in the session
   * hears of the end at once, and must find that it was wanted.
   */
  async end<T>(close: () => Promise<T>): Promise<T> {
    await this.#store.save({ ...(await this.stored()), session_id: null, generation: null })
    try {
      return await close()
    } finally {
      this.#held = await this.#store.load()
    }
  }

  /** `session_closed` or `session_unknown`: true when there is another session to go on with. */
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
