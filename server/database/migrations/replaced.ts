/**
 * Names of the 47 migrations that the baseline replaced before the first release.
 *
 * A database that records all of them has the tables and indexes that the baseline makes, so `migrate`
 * records the baseline in their place. If a database records only some of them, `migrate` refuses it, because
 * it lacks columns that no present migration adds. The list can be removed once no database from before the
 * baseline is in use.
 */
export const replacedNames: readonly string[] = [
  'server',
  'owner_users',
  'owner_links',
  'owner_sessions',
  'projects',
  'environments',
  'agents',
  'pairings',
  'credentials',
  'enrollments',
  'sessions',
  'conversations',
  'messages',
  'messages_fresh',
  'messages_due',
  'messages_budget',
  'inboxes',
  'nonces',
  'idempotency',
  'audit',
  'audit_by_project',
  'recipient_keys',
  'contact_schedule',
  'challenges',
  'takeovers',
  'administrators',
  'audit_filters',
  'project_deletion',
  'maintenance',
  'tasks',
  'lease_clock',
  'attention',
  'messages_offered',
  'telemetry',
  'transfers',
  'transfer_secrets',
  'lighter_writes',
  'audit_by_actor_and_kind',
  'nonces_by_arrival',
  'messages_by_number',
  'task_releases',
  'reserved_by_sender',
  'transfer_leases',
  'indexes_by_rowid',
  'takeover_lineage',
  'answered',
  'steady_clock',
]

/** Number of migrations in the baseline, the first ones of the present list. */
export const baselineLength = 22
