/** Refusals while the clock of the database is set, and of a node that stood still. */
import type { Reply } from '../../../support/http.ts'

/**
 * Whether a node and its client have different times: only one of them knows that the clock was set. Only a 401
 * is parsed, because other answers may have no body.
 */
export const isSkewed = (reply: Pick<Reply, 'status' | 'json'>): boolean =>
  reply.status === 401 && (reply.json as { error?: string }).error === 'clock_skew'

/** Undefined for the 408 of a node that stood still for longer than a request may take. */
export const unlessLate = (reply: Reply): Reply | undefined => (reply.status === 408 ? undefined : reply)
