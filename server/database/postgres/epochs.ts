/**
 * An epoch begins when a node joins and no other one is alive. The database may have been restored since the
 * last node served it, so the first node of an epoch keeps the last ids of all lanes before it writes.
 *
 * Epochs are numbered by the time at which they begin, so they rise over a restore too.
 */
import type { PostgresConnection } from './connection.ts'

/** Begins an epoch. Runs while the caller has locked the table of the nodes. A fresh database has none yet. */
export async function beginEpoch(connection: PostgresConnection): Promise<void> {
  await connection.query({ text: begin })
  await connection.query({ text: removeOldest })
}

const begin = `WITH begun AS (
    UPDATE place SET epoch = greatest(epoch + 1, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)
      RETURNING epoch
  )
  INSERT INTO kept_epochs (epoch, lane, last) SELECT begun.epoch, lanes.lane, lanes.last FROM begun, lanes`

/** Those of the last 32 epochs stay, for nodes that were stopped for that long. */
const removeOldest = `DELETE FROM kept_epochs WHERE epoch NOT IN
  (SELECT DISTINCT epoch FROM kept_epochs ORDER BY epoch DESC LIMIT 32)`

/** Ids that were kept when epochs began after the epoch $2. */
export const keptAfter = 'SELECT lane, last FROM kept_epochs WHERE epoch > $2'
