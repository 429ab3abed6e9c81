/**
 * Explicit start and close of the session. If there is no session, every other call starts one automatically.
 * Contract §5.
 */

import type { SessionKeeper, StartOptions } from '../agent/session.ts'
import {
  type Challenge,
  sessions as entries,
  type Session,
  type SessionClosed,
} from '../contract/agent/sessions.ts'
import { BridgeError, type RefusalCode } from '../transport/failures.ts'
import type { CallOptions } from '../transport/http.ts'
import type { Call } from './call.ts'

/** Refusals that mean that the session has already ended. */
const alreadyClosed: ReadonlySet<RefusalCode> = new Set(['session_closed', 'session_unknown'])

export class Sessions {
  readonly #call: Call
  readonly #keeper: SessionKeeper

  constructor(call: Call, keeper: SessionKeeper) {
    this.#call = call
    this.#keeper = keeper
  }

  /**
   * Fetches a single-use challenge for the start of a device-bound session. {@link start} fetches one
   * automatically.
   *
   * @throws state_conflict for an identity that is not device-bound.
   */
  challenge(options: CallOptions = {}): Promise<Challenge> {
    return this.#call(entries.challenge, { body: {} }, options)
  }

  /**
   * Starts a session, or resumes the active one of this instance. After a takeover by the owner, pass its
   * grant. If the answer is lost, the same instance can repeat the call with the same grant.
   *
   * @throws session_active if another instance has an active session. It throws takeover_pending if a grant was
   * issued and none is given, and grant_invalid for a grant that is unknown, used, voided or expired. The other
   * codes are challenge_invalid, and device_mismatch on another machine than the enrolled one.
   */
  start(options: StartOptions = {}): Promise<Session> {
    return this.#keeper.start(options)
  }

  /** Closes the session. Returns undefined if there is none. Task claims stay until they expire. */
  async close(options: CallOptions = {}): Promise<SessionClosed | undefined> {
    if ((await this.#keeper.stored()).session_id === null) return undefined
    return this.#keeper.end(() => this.#closeHeld(options))
  }

  async #closeHeld(options: CallOptions): Promise<SessionClosed | undefined> {
    try {
      return await this.#call(entries.close, { body: {} }, options)
    } catch (error) {
      if (error instanceof BridgeError && alreadyClosed.has(error.code)) return undefined
      throw error
    }
  }
}
