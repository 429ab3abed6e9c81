/** All maintenance jobs, in the order of a run. A noun adds its job here. */
import { auditRetention } from '../audit/retention.ts'
import type { Nonces } from '../database/nonces.ts'
import { messageRetention } from '../messages/retention.ts'
import { hostRetention } from '../telemetry/store.ts'
import { claimReconciling } from './claims.ts'
import { expired, idempotencyRetention } from './expired.ts'
import type { Job } from './job.ts'
import { noncePurge } from './nonces.ts'

export const jobsOf = (nonces: Nonces): readonly Job[] => [
  messageRetention,
  auditRetention,
  idempotencyRetention,
  noncePurge(nonces),
  claimReconciling,
  ...expired,
  hostRetention,
]
