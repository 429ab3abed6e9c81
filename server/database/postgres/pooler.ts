/**
 * Finds out whether a pooler stands between the node and its database, and what it forgets.
 *
 * A pooler with one server connection per transaction (PgBouncer's transaction pooling) may run each transaction
 * of a connection on another server process. A named statement of the first is unknown to the second, unless
 * the pooler repeats it (PgBouncer from 1.21, with `max_prepared_statements`). The node then names none.
 */
import { type ConnectionSettings, PostgresConnection, postgresCode } from './connection.ts'

export type Pooling = 'none' | 'session' | 'transaction'

const ATTEMPTS = 10
const PROCESS = 'SELECT pg_backend_pid() AS pid'

const isUnknownStatement = (error: unknown): boolean => ['26000', '42P05'].includes(postgresCode(error) ?? '')

/** Sets `forgetsNames` if the pooler forgets named statements. */
export async function learnPooling(
  connection: PostgresConnection,
  settings: ConnectionSettings,
): Promise<Pooling> {
  if (!(await isPooled(connection))) return 'none'
  const taker = await PostgresConnection.open({ url: settings.url })
  const probe = await PostgresConnection.open({ url: settings.url })
  try {
    const first = await processOf(probe)
    // Another client may take the free server process before the taker does, and hide the pooler in one attempt.
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      await taker.query({ text: 'BEGIN' })
      // Takes the server process that has just become free, so that the probe gets another one.
      await taker.query({ text: 'SELECT 1' })
      const next = await processOf(probe)
      await taker.query({ text: 'COMMIT' })
      if (next !== first) return 'transaction'
    }
    return 'session'
  } catch (error) {
    if (!isUnknownStatement(error)) throw error
    settings.forgetsNames = true
    return 'transaction'
  } finally {
    await taker.close()
    await probe.close()
  }
}

async function isPooled(connection: PostgresConnection): Promise<boolean> {
  const { rows } = await connection.query<{ pid: number }>({ text: PROCESS })
  return rows[0]?.pid !== connection.processId
}

/** The server process of the connection, asked with a named statement: an unknown one is refused. */
async function processOf(connection: PostgresConnection): Promise<number | undefined> {
  const { rows } = await connection.query<{ pid: number }>({
    name: 'bridge_probe',
    text: PROCESS,
    values: [],
  })
  return rows[0]?.pid
}
