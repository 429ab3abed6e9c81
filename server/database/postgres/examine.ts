/** Examines a database without changing it. */
import type { Moved } from '../moved.ts'
import { hearsNotifications } from './channel.ts'
import { isDamage, PostgresConnection } from './connection.ts'
import { recordedMigrations } from './migrate.ts'
import { readMoved } from './moving.ts'
import { faultsOf } from './probe.ts'
import { synchronousText } from './timeline.ts'
import { DatabaseForgotError, Witness } from './witness.ts'

export interface Examination {
  /** Why the database cannot hold an installation. */
  readonly faults: readonly string[]
  readonly version: string
  readonly pages: Pages
  readonly migrations: readonly { readonly number: number; readonly name: string }[]
  readonly hasInstallation: boolean
  /** Check value of the envelope key. Null if no node has recorded one. */
  readonly keyCheck: string | null
  /** Record of the last move, if it matters. */
  readonly moved: Moved | undefined
  /** Whether a commit is on a second machine before it is answered. */
  readonly isSynchronous: boolean
  /** Whether a notification from another connection arrives. */
  readonly hears: boolean
  /** Says what it has lost of what it confirmed to the last server. */
  readonly forgotten: string | undefined
}

export interface Pages {
  /** Whether PostgreSQL computes checksums, without which it does not notice most damage. */
  readonly areChecked: boolean
  /** Number of damaged pages that PostgreSQL has found since its statistics began. */
  readonly damaged: number
  readonly lastAt: string | null
}

/** @throws DamagedPagesError; errors of connecting */
export async function examinePostgres(
  url: string,
  witnessFile: string,
  listenUrl?: string,
): Promise<Examination> {
  const connection = await PostgresConnection.open({ url })
  try {
    return await examineOn(connection, { url, listenUrl, witnessFile })
  } catch (error) {
    throw isDamage(error) ? new DamagedPagesError((error as Error).message, { cause: error }) : error
  } finally {
    await connection.close()
  }
}

/** PostgreSQL found a damaged page of a table without which the database cannot be examined. */
export class DamagedPagesError extends Error {
  override readonly name = 'DamagedPagesError'
}

interface Examined {
  readonly url: string
  readonly listenUrl: string | undefined
  readonly witnessFile: string
}

async function examineOn(
  connection: PostgresConnection,
  { url, listenUrl, witnessFile }: Examined,
): Promise<Examination> {
  const faults = await faultsOf(connection)
  const migrations = await recordedMigrations(connection)
  const { rows } = await connection.query<{ version: string; synchronous: number }>({
    text: `SELECT current_setting('server_version') AS version,
        ${synchronousText} AS synchronous`,
  })
  const server = migrations.length > 0 ? await readServer(connection) : undefined
  const installed = server !== undefined
  return {
    ...{ faults, migrations, moved: await readMoved(connection), pages: await readPages(connection) },
    version: rows[0]?.version ?? '',
    hasInstallation: installed,
    keyCheck: server?.key_check ?? null,
    isSynchronous: rows[0]?.synchronous === 1,
    hears: await hearsBy(url, listenUrl),
    forgotten: installed ? await forgottenBy(connection, witnessFile) : undefined,
  }
}

async function readPages(connection: PostgresConnection): Promise<Pages> {
  const { rows } = await connection.query<{ checked: number; damaged: number; last_at: string | null }>({
    text: `SELECT current_setting('data_checksums') = 'on' AS checked, coalesce(checksum_failures, 0) AS damaged,
      to_char(checksum_last_failure AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS last_at
      FROM pg_stat_database WHERE datname = current_database()`,
  })
  const [found] = rows
  return {
    areChecked: found?.checked === 1,
    damaged: found?.damaged ?? 0,
    lastAt: found?.last_at ?? null,
  }
}

/** A direct way that leads nowhere lets nothing arrive. */
async function hearsBy(url: string, listenUrl: string | undefined): Promise<boolean> {
  const listen = listenUrl === undefined ? undefined : { url: listenUrl }
  const hears = hearsNotifications({ settings: { url }, listen })
  return listen === undefined ? hears : hears.catch(() => false)
}

/** A database that an older program made last has no column for the key. */
async function readServer(connection: PostgresConnection) {
  const { rows } = await connection.query<{ key_check: string | null }>({
    text: "SELECT to_jsonb(server) ->> 'envelope_key_check' AS key_check FROM server",
  })
  return rows[0]
}

async function forgottenBy(connection: PostgresConnection, file: string): Promise<string | undefined> {
  // A database that an older program made last records no place. The next start adds it.
  const { rows } = await connection.query<{ exists: number }>({
    text: "SELECT to_regclass('place') IS NOT NULL AS exists",
  })
  if (rows[0]?.exists !== 1) return undefined
  const servers = await connection.query<{ server_id: string }>({ text: 'SELECT server_id FROM server' })
  try {
    await new Witness({ file, serverId: servers.rows[0]?.server_id ?? '' }).verify(connection)
    return undefined
  } catch (error) {
    if (error instanceof DatabaseForgotError) return error.message
    throw error
  }
}
