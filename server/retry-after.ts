/**
 * Retry delays in milliseconds for refusals whose real end is unknown. If the server knows the end, such as
 * that of a rate window, the refusing code computes the delay instead.
 *
 * Contract §1, §2.
 */
export const retryAfterMs = {
  /** The process is stopping. It serves again as soon as a supervisor restarts it. */
  restart: 1000,
  /** The database was away and answers again, so the same key has an outcome now. */
  recovered: 100,
  /** A connection to the object store broke, which says nothing about the next one. */
  objectStore: 250,
  /** The request was too slow. The caller may retry immediately. */
  immediately: 1000,
  /** One of the caller's waits has to end first. */
  ownWait: 1000,
  /** Two passwords are checked at a time and at most eight more are queued. */
  passwords: 2000,
  /** A wait of another caller has to end first. */
  othersWait: 5000,
  /** A full disk rarely has free space again within a second. */
  disk: 5000,
  /** Another agent or a person has to act first. */
  otherParty: 60_000,
} as const
