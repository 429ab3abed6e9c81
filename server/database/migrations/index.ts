/**
 * Every migration, in order: numbered, forward only, one step each, never changed once released.
 *
 * They are modules that hold a string and import nothing, so that today's code cannot change the past and the
 * program can be bundled. Readiness names 005, 021 and 022 (spec §4.4).
 */
import { sql as m001 } from './001_server.ts'
import { sql as m002 } from './002_owner_users.ts'
import { sql as m003 } from './003_owner_links.ts'
import { sql as m004 } from './004_owner_sessions.ts'
import { sql as m005 } from './005_projects.ts'
import { sql as m006 } from './006_environments.ts'
import { sql as m007 } from './007_agents.ts'
import { sql as m008 } from './008_pairings.ts'
import { sql as m009 } from './009_credentials.ts'
import { sql as m010 } from './010_enrollments.ts'
import { sql as m011 } from './011_sessions.ts'
import { sql as m012 } from './012_conversations.ts'
import { sql as m013 } from './013_messages.ts'
import { sql as m014 } from './014_messages_fresh.ts'
import { sql as m015 } from './015_messages_due.ts'
import { sql as m016 } from './016_messages_budget.ts'
import { sql as m017 } from './017_inboxes.ts'
import { sql as m018 } from './018_nonces.ts'
import { sql as m019 } from './019_idempotency.ts'
import { sql as m020 } from './020_audit.ts'
import { sql as m021 } from './021_audit_by_project.ts'
import { sql as m022 } from './022_recipient_keys.ts'
import { sql as m023 } from './023_contact_schedule.ts'
import { sql as m024 } from './024_challenges.ts'
import { sql as m025 } from './025_takeovers.ts'
import { sql as m026 } from './026_administrators.ts'
import { sql as m027 } from './027_audit_filters.ts'
import { sql as m028 } from './028_project_deletion.ts'
import { sql as m029 } from './029_maintenance.ts'
import { sql as m030 } from './030_tasks.ts'
import { sql as m031 } from './031_lease_clock.ts'
import { sql as m032 } from './032_attention.ts'
import { sql as m033 } from './033_messages_offered.ts'
import { sql as m034 } from './034_telemetry.ts'
import { sql as m035 } from './035_transfers.ts'
import { sql as m036 } from './036_transfer_secrets.ts'
import { sql as m037 } from './037_lighter_writes.ts'
import { sql as m038 } from './038_audit_by_actor_and_kind.ts'
import { sql as m039 } from './039_nonces_by_arrival.ts'
import { sql as m040 } from './040_messages_by_number.ts'
import { sql as m041 } from './041_task_releases.ts'
import { sql as m042 } from './042_reserved_by_sender.ts'
import { sql as m043 } from './043_transfer_leases.ts'
import { sql as m044 } from './044_indexes_by_rowid.ts'
import { sql as m045 } from './045_takeover_lineage.ts'
import { sql as m046 } from './046_answered.ts'
import { sql as m047 } from './047_steady_clock.ts'

export interface Migration {
  readonly number: number
  readonly name: string
  readonly sql: string
}

export const migrations: readonly Migration[] = [
  { number: 1, name: 'server', sql: m001 },
  { number: 2, name: 'owner_users', sql: m002 },
  { number: 3, name: 'owner_links', sql: m003 },
  { number: 4, name: 'owner_sessions', sql: m004 },
  { number: 5, name: 'projects', sql: m005 },
  { number: 6, name: 'environments', sql: m006 },
  { number: 7, name: 'agents', sql: m007 },
  { number: 8, name: 'pairings', sql: m008 },
  { number: 9, name: 'credentials', sql: m009 },
  { number: 10, name: 'enrollments', sql: m010 },
  { number: 11, name: 'sessions', sql: m011 },
  { number: 12, name: 'conversations', sql: m012 },
  { number: 13, name: 'messages', sql: m013 },
  { number: 14, name: 'messages_fresh', sql: m014 },
  { number: 15, name: 'messages_due', sql: m015 },
  { number: 16, name: 'messages_budget', sql: m016 },
  { number: 17, name: 'inboxes', sql: m017 },
  { number: 18, name: 'nonces', sql: m018 },
  { number: 19, name: 'idempotency', sql: m019 },
  { number: 20, name: 'audit', sql: m020 },
  { number: 21, name: 'audit_by_project', sql: m021 },
  { number: 22, name: 'recipient_keys', sql: m022 },
  { number: 23, name: 'contact_schedule', sql: m023 },
  { number: 24, name: 'challenges', sql: m024 },
  { number: 25, name: 'takeovers', sql: m025 },
  { number: 26, name: 'administrators', sql: m026 },
  { number: 27, name: 'audit_filters', sql: m027 },
  { number: 28, name: 'project_deletion', sql: m028 },
  { number: 29, name: 'maintenance', sql: m029 },
  { number: 30, name: 'tasks', sql: m030 },
  { number: 31, name: 'lease_clock', sql: m031 },
  { number: 32, name: 'attention', sql: m032 },
  { number: 33, name: 'messages_offered', sql: m033 },
  { number: 34, name: 'telemetry', sql: m034 },
  { number: 35, name: 'transfers', sql: m035 },
  { number: 36, name: 'transfer_secrets', sql: m036 },
  { number: 37, name: 'lighter_writes', sql: m037 },
  { number: 38, name: 'audit_by_actor_and_kind', sql: m038 },
  { number: 39, name: 'nonces_by_arrival', sql: m039 },
  { number: 40, name: 'messages_by_number', sql: m040 },
  { number: 41, name: 'task_releases', sql: m041 },
  { number: 42, name: 'reserved_by_sender', sql: m042 },
  { number: 43, name: 'transfer_leases', sql: m043 },
  { number: 44, name: 'indexes_by_rowid', sql: m044 },
  { number: 45, name: 'takeover_lineage', sql: m045 },
  { number: 46, name: 'answered', sql: m046 },
  { number: 47, name: 'steady_clock', sql: m047 },
]

/** Readiness is refused until these are recorded. */
export const requiredMigrations: readonly number[] = [5, 21, 22]
