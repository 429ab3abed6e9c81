/**
 * All migrations in order. They are numbered and forward only. A released migration never changes.
 *
 * Each is a module that holds one string and imports nothing. So a change of other code cannot change a
 * migration, and the program can be bundled. The first 22 are the baseline, one for the tables of each
 * subject. Readiness requires 005, 021 and 022 (spec §4.4).
 */
import { sql as m001 } from './001_installation.ts'
import { sql as m002 } from './002_owner_users.ts'
import { sql as m003 } from './003_owner_links.ts'
import { sql as m004 } from './004_owner_sessions.ts'
import { sql as m005 } from './005_projects.ts'
import { sql as m006 } from './006_administrators.ts'
import { sql as m007 } from './007_environments.ts'
import { sql as m008 } from './008_agents.ts'
import { sql as m009 } from './009_pairings.ts'
import { sql as m010 } from './010_credentials.ts'
import { sql as m011 } from './011_enrollments.ts'
import { sql as m012 } from './012_sessions.ts'
import { sql as m013 } from './013_takeovers.ts'
import { sql as m014 } from './014_conversations.ts'
import { sql as m015 } from './015_messages.ts'
import { sql as m016 } from './016_tasks.ts'
import { sql as m017 } from './017_transfers.ts'
import { sql as m018 } from './018_nonces.ts'
import { sql as m019 } from './019_idempotency.ts'
import { sql as m020 } from './020_telemetry.ts'
import { sql as m021 } from './021_audit.ts'
import { sql as m022 } from './022_recipient_keys.ts'
import { sql as m023 } from './023_claim_lifetime.ts'
import { sql as m024, postgres as p024 } from './024_place.ts'
import { sql as m025, postgres as p025 } from './025_moved.ts'
import { sql as m026, postgres as p026 } from './026_timeline.ts'
import { sql as m027, postgres as p027 } from './027_nodes.ts'
import { sql as m028, postgres as p028 } from './028_transfer_parts.ts'
import { sql as m029, postgres as p029 } from './029_listeners.ts'
import { sql as m030, postgres as p030 } from './030_envelope_key.ts'
import { sql as m031, postgres as p031 } from './031_node_settings.ts'
import { sql as m032, postgres as p032 } from './032_kept_lanes.ts'
import { sql as m033, postgres as p033 } from './033_kept_epochs.ts'

export interface Migration {
  readonly number: number
  readonly name: string
  readonly sql: string
  /** The same step for PostgreSQL. Only those that its baseline contains have none. */
  readonly postgres?: string
}

export const migrations: readonly Migration[] = [
  { number: 1, name: 'installation', sql: m001 },
  { number: 2, name: 'owner_users', sql: m002 },
  { number: 3, name: 'owner_links', sql: m003 },
  { number: 4, name: 'owner_sessions', sql: m004 },
  { number: 5, name: 'projects', sql: m005 },
  { number: 6, name: 'administrators', sql: m006 },
  { number: 7, name: 'environments', sql: m007 },
  { number: 8, name: 'agents', sql: m008 },
  { number: 9, name: 'pairings', sql: m009 },
  { number: 10, name: 'credentials', sql: m010 },
  { number: 11, name: 'enrollments', sql: m011 },
  { number: 12, name: 'sessions', sql: m012 },
  { number: 13, name: 'takeovers', sql: m013 },
  { number: 14, name: 'conversations', sql: m014 },
  { number: 15, name: 'messages', sql: m015 },
  { number: 16, name: 'tasks', sql: m016 },
  { number: 17, name: 'transfers', sql: m017 },
  { number: 18, name: 'nonces', sql: m018 },
  { number: 19, name: 'idempotency', sql: m019 },
  { number: 20, name: 'telemetry', sql: m020 },
  { number: 21, name: 'audit', sql: m021 },
  { number: 22, name: 'recipient_keys', sql: m022 },
  { number: 23, name: 'claim_lifetime', sql: m023 },
  { number: 24, name: 'place', sql: m024, postgres: p024 },
  { number: 25, name: 'moved', sql: m025, postgres: p025 },
  { number: 26, name: 'timeline', sql: m026, postgres: p026 },
  { number: 27, name: 'nodes', sql: m027, postgres: p027 },
  { number: 28, name: 'transfer_parts', sql: m028, postgres: p028 },
  { number: 29, name: 'listeners', sql: m029, postgres: p029 },
  { number: 30, name: 'envelope_key', sql: m030, postgres: p030 },
  { number: 31, name: 'node_settings', sql: m031, postgres: p031 },
  { number: 32, name: 'kept_lanes', sql: m032, postgres: p032 },
  { number: 33, name: 'kept_epochs', sql: m033, postgres: p033 },
]

/** The server is ready only if the database records these migrations. */
export const requiredMigrations: readonly number[] = [5, 21, 22]
