/** Tries at the start what the node relies on, and names what the database lacks. */
import { type ConnectionSettings, type PostgresConnection, postgresCode } from './connection.ts'
import { missingLocks } from './row-locks.ts'

/** The database is not one that the node can use. The message names the reason. */
export class UnfitDatabaseError extends Error {
  override readonly name = 'UnfitDatabaseError'
}

const leastVersion = 140_000

interface Settings {
  readonly version: number
  readonly version_text: string
  readonly encoding: string
  readonly fsync: string
  readonly full_page_writes: string
  readonly synchronous_commit: string
  readonly isolation: string
  readonly read_only: string
  readonly standby: number
}

/** @throws UnfitDatabaseError */
export const requireFit = async (connection: PostgresConnection): Promise<void> =>
  requireNone(await faultsOf(connection))

/** Tries the locks of an installation that exists. @throws UnfitDatabaseError */
export const requireLocks = async (settings: ConnectionSettings): Promise<void> =>
  requireNone((await missingLocks(settings)).map((name) => `it lacks ${name}`))

function requireNone(faults: readonly string[]): void {
  if (faults.length === 0) return
  throw new UnfitDatabaseError(`this database cannot hold an installation: ${faults.join('; ')}`)
}

/** Returns why a database cannot hold an installation, one clause for each reason. */
export const faultsOf = async (connection: PostgresConnection): Promise<string[]> => [
  ...(await wrongSettings(connection)),
  ...(await missingAbilities(connection)),
]

async function wrongSettings(connection: PostgresConnection): Promise<string[]> {
  const { rows } = await connection.query<Settings>({
    text: `SELECT current_setting('server_version_num')::int AS version, current_setting('server_version') AS version_text,
      current_setting('server_encoding') AS encoding, current_setting('fsync') AS fsync,
      current_setting('full_page_writes') AS full_page_writes,
      current_setting('synchronous_commit') AS synchronous_commit,
      current_setting('default_transaction_isolation') AS isolation,
      current_setting('default_transaction_read_only') AS read_only, pg_is_in_recovery() AS standby`,
  })
  const [found] = rows
  if (found === undefined) return ['it does not show its settings']
  return [
    ...(found.version < leastVersion ? [`PostgreSQL ${found.version_text} is older than 14`] : []),
    ...(found.encoding === 'UTF8' ? [] : [`its encoding is ${found.encoding}, not UTF8`]),
    ...(found.fsync === 'on' ? [] : ['fsync is off, so commits could be lost on power loss']),
    ...(found.full_page_writes === 'on' ? [] : ['full_page_writes is off, so a crash could damage it']),
    ...(['on', 'remote_apply', 'remote_write', 'local'].includes(found.synchronous_commit)
      ? []
      : [`synchronous_commit is ${found.synchronous_commit}, so commits could be lost`]),
    ...(found.isolation === 'read committed'
      ? []
      : [`default_transaction_isolation is ${found.isolation}, not read committed`]),
    ...(found.read_only === 'off'
      ? []
      : [`default_transaction_read_only is ${found.read_only}, so it cannot be written`]),
    ...(found.standby === 1 ? ['it is a standby, which cannot be written'] : []),
  ]
}

const abilities: readonly (readonly [name: string, text: string])[] = [
  ['pg_current_xact_id and pg_xact_status', 'SELECT pg_xact_status(pg_current_xact_id())'],
  ['the identifier of the cluster', 'SELECT system_identifier FROM pg_control_system()'],
  ['the start of the server', 'SELECT pg_postmaster_start_time(), (SELECT stats_reset FROM pg_stat_wal)'],
  ['the timeline', 'SELECT pg_walfile_name(pg_current_wal_lsn())'],
  ['COLLATE "C"', `SELECT 'a' COLLATE "C" < 'B'`],
  ['time limits of a transaction', "SELECT set_config('idle_in_transaction_session_timeout', '2s', true)"],
]

async function missingAbilities(connection: PostgresConnection): Promise<string[]> {
  const missing: string[] = []
  for (const [name, text] of abilities) {
    try {
      await connection.query({ text })
    } catch (error) {
      missing.push(`it lacks ${name} (${postgresCode(error) ?? (error as Error).message})`)
    }
  }
  return missing
}
