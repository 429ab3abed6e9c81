/**
 * Finds out whether a pooler stands between the node and its database, and what it forgets.
 *
 * A pooler with one server connection per transaction (PgBouncer's transaction pooling) may run each transaction
 * of a connection on another server process. A named statement of the first is unknown to the second, unless
 * the pooler repeats it (PgBouncer from 1.21, with `max_prepared_statements`). The node then names none.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type ConnectionSettings, PostgresConnection, postgresCode } from './connection.ts'

export type Pooling = 'none' | 'session' | 'transaction'

const ATTEMPTS = 10
const PROCESS = 'SELECT pg_backend_pid() AS pid'

const isUnknownStatement = (error: unknown): boolean => ['26000', '42P05'].includes(postgresCode(error) ?? '')

/**
 * Sets `forgetsNames` if the pooler forgets named statements, or if no attempt shows that it repeats them.
 *
 * Two connections that are open at the same time share a server process only in transaction pooling, and only
 * there does a connection change its process. Other clients of the pooler can hide both in one attempt.
 */
export async function learnPooling(
  connection: PostgresConnection,
  settings: ConnectionSettings,
): Promise<Pooling> {
  if (!(await isPooled(connection))) return 'none'
  const open = () => PostgresConnection.open({ url: settings.url })
  const [one, two, probe] = [await open(), await open(), await open()]
  try {
    // An earlier probe leaves its statement in the processes that the pooler keeps, so the name is new each time. A
    // pooler draws the number of a client.
    const name = `bridge_probe_${probe.processId}`
    const first = await processOf(probe, name)
    let isShared = false
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      // All are sent at once, so that another transaction gets the free process before the probe does.
      const asked = [inTransaction(one), inTransaction(two), processOf(probe, name)]
      const [ofOne, ofTwo, next] = await Promise.all(asked)
      isShared ||= ofOne === first || ofTwo === first
      if (next !== first) return 'transaction'
      // Another client with the same rhythm would hide the pooler in each attempt.
      await sleep(attempt)
    }
    if (isShared) settings.forgetsNames = true
    return isShared ? 'transaction' : 'session'
  } catch (error) {
    if (!isUnknownStatement(error)) throw error
    settings.forgetsNames = true
    return 'transaction'
  } finally {
    for (const each of [one, two, probe]) await each.close()
  }
}

async function isPooled(connection: PostgresConnection): Promise<boolean> {
  const { rows } = await connection.query<{ pid: number }>({ text: PROCESS })
  return rows[0]?.pid !== connection.processId
}

/** The server process of the connection, asked with a named statement: an unknown one is refused. */
async function processOf(connection: PostgresConnection, name: string): Promise<number | undefined> {
  const { rows } = await connection.query<{ pid: number }>({ name, text: PROCESS, values: [] })
  return rows[0]?.pid
}

/** The server process of a transaction, which nobody else gets meanwhile. */
async function inTransaction(connection: PostgresConnection): Promise<number | undefined> {
  await connection.query({ text: 'BEGIN' })
  const { rows } = await connection.query<{ pid: number }>({ text: PROCESS })
  await connection.query({ text: 'COMMIT' })
  return rows[0]?.pid
}
