/** Refusals while the clock of the database is set, and of a node that stood still. */
import type { Reply } from '../../../support/http.ts'
import { machineMs } from '../client-log.ts'

/**
 * Whether a node and its client have different times: only one of them knows that the clock was set. Only a 401
 * is parsed, because other answers may have no body.
 */
export const isSkewed = (reply: Pick<Reply, 'status' | 'json'>): boolean =>
  reply.status === 401 && (reply.json as { error?: string }).error === 'clock_skew'

/** A 408 that comes sooner has another cause, and is a fault. */
const standsMs = 5000

/** Whether a node stood still while the request waited, for longer than a request may take. */
export const stoodStill = ({ status }: Reply, begunMs: number): boolean =>
  status === 408 && machineMs() - begunMs > standsMs
