/** Starting and closing the session on purpose. Calls start one by themselves when there is none. Contract §5. */

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

/** Refusals of a session that needs no closing. */
const alreadyClosed: ReadonlySet<RefusalCode> = new Set(['session_closed', 'session_unknown'])

export class Sessions {
  readonly #call: Call
  readonly #keeper: SessionKeeper

  constructor(call: Call, keeper: SessionKeeper) {
    this.#call = call
    this.#keeper = keeper
  }

  /**
   * The single-use challenge of a device-bound start. {@link start} fetches one by itself.
   *
   * @throws state_conflict for an identity that needs none.
   */
  challenge(options: CallOptions = {}): Promise<Challenge> {
    return this.#call(entries.challenge, { body: {} }, options)
  }

  /**
   * Start a session, or resume the active one of this instance; after a takeover with its grant. After a lost answer
   * the same grant gets this instance its session back.
   *
   * @throws session_active while another instance is alive; takeover_pending without a grant while one is open;
   *   grant_invalid for a grant that is unknown, used, voided or expired; challenge_invalid, device_mismatch on another
   *   machine than the enrolled one.
   */
  start(options: StartOptions = {}): Promise<Session> {
    return this.#keeper.start(options)
  }

  /** Close the session; undefined when there is none to close. Claims are left to expire. */
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
