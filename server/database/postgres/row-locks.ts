/**
 * Tries the locks of rows that lanes need, on two connections. An engine that speaks the protocol of
 * PostgreSQL may accept the words and do something else.
 */
import { type ConnectionSettings, PostgresConnection, postgresCode } from './connection.ts'

const begin = (lockTimeout: string) =>
  `BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = '${lockTimeout}';
    SET LOCAL idle_in_transaction_session_timeout = '10s'`

/** The row of the installation. Its version changes with each update. */
const row = 'SELECT xmin::text AS version FROM server WHERE one = 1'

interface Version {
  readonly version: string
}

/** Returns the names of the locks that the database lacks. Nodes that try them at once wait for each other. */
export async function missingLocks(settings: ConnectionSettings): Promise<string[]> {
  const holder = await PostgresConnection.open(settings)
  try {
    const other = await PostgresConnection.open(settings)
    try {
      return await tryLocks(holder, other)
    } finally {
      await other.close()
    }
  } finally {
    await holder.close()
  }
}

async function tryLocks(holder: PostgresConnection, other: PostgresConnection): Promise<string[]> {
  await holder.query({ text: begin('10s') })
  await holder.query({ text: `${row} FOR UPDATE` })
  await other.query({ text: begin('1s') })
  const before = await other.query<Version>({ text: row })
  const skipped = await refusalOf(other.query<Version>({ text: `${row} FOR UPDATE SKIP LOCKED` }))
  if (typeof skipped === 'string') return [`FOR UPDATE SKIP LOCKED (${skipped})`]
  if (skipped.rows.length > 0) return ['locks of rows']
  await holder.query({ text: 'UPDATE server SET one = one' })
  await holder.query({ text: 'COMMIT' })
  // Other nodes that try the row stand before this one, and each commits to a disk that may be slow.
  await other.query({ text: "SET LOCAL lock_timeout = '10s'" })
  const after = await refusalOf(other.query<Version>({ text: `${row} FOR UPDATE` }))
  const again = 'reading a row again after its lock'
  if (typeof after === 'string') return [`${again} (${after})`]
  return after.rows[0]?.version === before.rows[0]?.version ? [again] : []
}

/** Returns the answer, or the code with which the database refused the statement. */
async function refusalOf<T>(answer: Promise<T>): Promise<T | string> {
  try {
    return await answer
  } catch (error) {
    const code = postgresCode(error)
    if (code === undefined) throw error
    return code
  }
}
