/**
 * When a refusal asks its caller to come back, in milliseconds, where no clock tells the real moment. A moment that the
 * server knows, such as the end of a window, is computed where it is known.
 *
 * Contract §1, §2.
 */
export const retryAfterMs = {
  /** The process stops, and serves again as soon as something starts it. */
  restart: 1000,
  /** The caller did this too slowly, and may do it again at once. */
  atOnce: 1000,
  /** One of the caller's own waits has to end. */
  ownWait: 1000,
  /** Two passwords are checked at a time and eight wait. */
  passwords: 2000,
  /** Somebody else's wait has to end. */
  othersWait: 5000,
  /** The disk seldom has room again within a moment. */
  disk: 5000,
  /** Another agent or a person has to act. */
  others: 60_000,
} as const
