/** Refusals while the clock of the database is set. */
import type { Reply } from '../../../support/http.ts'

/** Whether a node and its client have different times: only one of them knows that the clock was set. */
export const isSkewed = ({ status, json }: Pick<Reply, 'status' | 'json'>): boolean =>
  status === 401 && (json as { error?: string }).error === 'clock_skew'
