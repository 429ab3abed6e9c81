/** All maintenance jobs, in the order of a run. A noun adds its job here. */
import { auditRetention } from './audit/retention.ts'
import type { Nonces } from './database/nonces.ts'
import { expired, idempotencyRetention } from './maintenance/expired.ts'
import type { Job } from './maintenance/job.ts'
import { noncePurge } from './maintenance/nonces.ts'
import { messageRetention } from './messages/retention.ts'
import { claimReconciling } from './tasks/expired-claims.ts'
import { hostRetention } from './telemetry/store.ts'

export const jobsOf = (nonces: Nonces): readonly Job[] => [
  messageRetention,
  auditRetention,
  idempotencyRetention,
  noncePurge(nonces),
  claimReconciling,
  ...expired,
  hostRetention,
]
