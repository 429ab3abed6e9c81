/** The check value of the envelope key in the database. */
import { keyCheckOf, requireSameKey } from '../../storage/envelope-keys.ts'
import type { PostgresConnection } from './connection.ts'

/** Returns the recorded value. Null if no node has recorded one. */
export async function readKeyCheck(connection: PostgresConnection): Promise<string | null> {
  const { rows } = await connection.query<{ envelope_key_check: string | null }>({
    text: 'SELECT envelope_key_check FROM server',
  })
  return rows[0]?.envelope_key_check ?? null
}

/**
 * Records the key of the first node, and requires it of all others. A node without a key is not ready, so it
 * needs no check. @throws OtherEnvelopeKeyError
 */
export async function recordKey(connection: PostgresConnection, path: string): Promise<void> {
  const check = keyCheckOf(path)
  if (check === undefined) return
  const { count } = await connection.query({
    text: 'UPDATE server SET envelope_key_check = $1 WHERE envelope_key_check IS NULL',
    values: [check],
  })
  if (count === 0) requireSameKey(path, await readKeyCheck(connection))
}
