/** Examines a database without changing it. */
import { PostgresConnection } from './connection.ts'
import { recordedMigrations } from './migrate.ts'
import { faultsOf } from './probe.ts'

export interface Examination {
  /** Why the database cannot hold an installation. */
  readonly faults: readonly string[]
  readonly version: string
  readonly migrations: readonly { readonly number: number; readonly name: string }[]
  readonly hasInstallation: boolean
  /** Whether a commit is on a second machine before it is answered. */
  readonly isSynchronous: boolean
}

/** @throws errors of connecting */
export async function examinePostgres(url: string): Promise<Examination> {
  const connection = await PostgresConnection.open({ url })
  try {
    const faults = await faultsOf(connection)
    const migrations = await recordedMigrations(connection)
    const { rows } = await connection.query<{ version: string; synchronous: number }>({
      text: `SELECT current_setting('server_version') AS version,
        current_setting('synchronous_standby_names') <> '' AS synchronous`,
    })
    const installed =
      migrations.length > 0 && (await connection.query({ text: 'SELECT 1 FROM server' })).count === 1
    return {
      ...{ faults, migrations },
      version: rows[0]?.version ?? '',
      hasInstallation: installed,
      isSynchronous: rows[0]?.synchronous === 1,
    }
  } finally {
    await connection.close()
  }
}
