/**
 * The time of the database, kept between the answers that tell it. So all nodes of a database have one clock,
 * and a node whose own clock is wrong is not.
 */
export interface DatabaseClock {
  now(): Date
  /** Notes the time of the database, which was read between two moments of `monotonicMs`. */
  note(databaseMs: number, askedMs: number, answeredMs: number): void
}

/** An estimate that is this old may be replaced by a less exact one. */
const trustedMs = 10_000

/** `before` is the clock until the database has told its time. */
export function createDatabaseClock(monotonicMs: () => number, before: () => Date): DatabaseClock {
  let estimate: { readonly offsetMs: number; readonly errorMs: number; readonly atMs: number } | undefined
  return {
    now() {
      if (estimate === undefined) return before()
      return new Date(Math.floor(monotonicMs() + estimate.offsetMs))
    },
    note(databaseMs, askedMs, answeredMs) {
      const errorMs = (answeredMs - askedMs) / 2
      const offsetMs = databaseMs - askedMs - errorMs
      const isBetter = estimate === undefined || errorMs <= estimate.errorMs
      const isOld = estimate !== undefined && answeredMs - estimate.atMs > trustedMs
      const isSet =
        estimate !== undefined && Math.abs(offsetMs - estimate.offsetMs) > errorMs + estimate.errorMs
      if (isBetter || isOld || isSet) estimate = { offsetMs, errorMs, atMs: answeredMs }
    },
  }
}
