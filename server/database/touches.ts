/**
 * Names of the rows that a unit reads and changes, beside those that only it can have. PostgreSQL runs units
 * side by side if they touch nothing in common, or only what all of them touch together.
 */
export interface Touches {
  /** Rows that no unit beside it touches. */
  readonly alone: readonly string[]
  /** Rows that units beside it may touch too: counters, which all of them change through `Tx.counts`. */
  readonly together?: readonly string[]
}

/** Names the messages in the inbox of an agent, and their number. */
export const inboxOf = (agentId: string): string => `inbox ${agentId}`

/** Names the stored answer of a key. */
export const answerOf = (principal: string, key: string): string => `answer ${principal} ${key}`
