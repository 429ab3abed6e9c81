/**
 * Names of the 47 steps that the baseline replaced before the first release.
 *
 * A database that records all of them has the tables and indexes that the baseline makes, so `migrate` records the
 * baseline in their place. If a database records only some of them, it lacks columns that no step of today adds, and it is
 * refused. The list goes when no database that was made before the baseline needs to be opened.
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

/** The first steps of today's list, which stand for the replaced ones. */
export const baselineLength = 22
