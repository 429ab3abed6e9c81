/** Refusals while the clock of the database is set. */
import type { Reply } from '../../../support/http.ts'

/**
 * Whether a node and its client have different times: only one of them knows that the clock was set. Only the body of
 * a 401 is parsed, because others may have none.
 */
export const isSkewed = (reply: Pick<Reply, 'status' | 'json'>): boolean =>
  reply.status === 401 && (reply.json as { error?: string }).error === 'clock_skew'
