/**
 * An empty PostgreSQL database into which an installation moves. One transaction writes all rows, so a killed
 * move leaves empty tables, or all rows and the record that they have arrived.
 */
import { nodeLane } from '../lanes.ts'
import { requireKnown } from '../migration-history.ts'
import { migrations } from '../migrations/index.ts'
import { leftFor, type Moved, shownUrl, TargetNotEmptyError } from '../moved.ts'
import { type Columns, copiedTables, type RowsTarget } from '../row-copy.ts'
import { PostgresConnection, unlimitedAnswers } from './connection.ts'
import { migrate, recordedMigrations } from './migrate.ts'
import { postgresTarget, readMoved, settleArrival, writeMoved } from './moving.ts'
import { learnPooling } from './pooler.ts'
import { requireFit } from './probe.ts'

/** Statements over a whole table may take longer than those of a node. */
const answerWithinMs = 3_600_000

export interface MoveTarget {
  readonly rows: RowsTarget
  /** Stores everything, with the record of the arrival. */
  commit(arrival: Moved, changes: ArrivalChanges): Promise<void>
  close(): Promise<void>
}

/** Differences between the target and the source. */
export interface ArrivalChanges {
  /** The greatest id of the installation. */
  readonly lastId: string | undefined
  readonly floorRaisedBy: number
  /** Check value of the envelope key. */
  readonly keyCheck: string | undefined
}

export interface TargetOptions {
  readonly url: string
  /** Id of the installation that moves. The rest of a killed move of the same installation is replaced. */
  readonly serverId: string
  readonly columns: Columns
  readonly clock: () => Date
}

/**
 * Makes empty tables. @throws UnfitDatabaseError, TargetNotEmptyError, NewerDatabaseError, MovedError; errors
 * of connecting
 */
export async function openMoveTarget({ url, serverId, columns, clock }: TargetOptions): Promise<MoveTarget> {
  const settings = { url, limits: { ...unlimitedAnswers, answerWithinMs } }
  const connection = await PostgresConnection.open(settings)
  try {
    await requireFit(connection)
    await learnPooling(connection, settings)
    await requireEmpty(connection, url, serverId)
    await connection.query({ text: `DROP TABLE IF EXISTS ${ownTables.join(', ')}` })
    await migrate(connection, migrations, clock)
    await connection.query({
      text: `BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0;
        SET LOCAL lock_timeout = '30s'`,
    })
  } catch (error) {
    await connection.close()
    throw error
  }
  return {
    rows: postgresTarget(connection, columns),
    async commit(arrival, { lastId, floorRaisedBy, keyCheck }) {
      await connection.query({
        text: 'UPDATE replay_floor SET floor = floor + $1',
        values: [floorRaisedBy],
      })
      if (keyCheck !== undefined)
        await connection.query({ text: 'UPDATE server SET envelope_key_check = $1', values: [keyCheck] })
      // SQLite makes the ids of all projects in one order, so the greatest of all is a bound for each project.
      await connection.query({
        text: `INSERT INTO lanes (lane, last) SELECT id, $1 FROM projects UNION ALL SELECT $2, $1
          ON CONFLICT (lane) DO UPDATE SET last = excluded.last`,
        values: [lastId ?? '', nodeLane],
      })
      await writeMoved(connection, arrival)
      // The plans of a node need statistics at its start.
      await connection.query({ text: `ANALYZE ${copiedTables.map(({ name }) => name).join(', ')}` })
      await connection.query({ text: 'COMMIT' })
    },
    close: () => connection.close(),
  }
}

/** Removes the record of an arrival. Returns false if there is none of this move. */
export async function settleMove(url: string, moveId: string): Promise<boolean> {
  const connection = await PostgresConnection.open({ url })
  try {
    if ((await readMoved(connection)) === undefined) return false
    return await settleArrival(connection, moveId)
  } finally {
    await connection.close()
  }
}

const ownTables = [
  ...copiedTables.map(({ name }) => name),
  ...[
    'lanes',
    'kept_lanes',
    'kept_epochs',
    'nodes',
    'leases',
    'oldest_program',
    'place',
    'moved',
    'schema_migrations',
    'listeners',
    'sign_in_failures',
  ],
]

/** @throws TargetNotEmptyError, NewerDatabaseError, MovedError */
async function requireEmpty(connection: PostgresConnection, url: string, serverId: string): Promise<void> {
  const here = `the database ${shownUrl(url)}`
  const { rows: foreign } = await connection.query<{ name: string }>({
    text: `SELECT c.relname AS name FROM pg_class AS c
      WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
        AND (c.relname <> ALL ($1::text[]) OR c.relname = 'schema_migrations' AND NOT EXISTS (
          SELECT 1 FROM pg_attribute WHERE attrelid = c.oid AND attname = 'number'))
        AND NOT EXISTS (SELECT 1 FROM pg_depend WHERE objid = c.oid AND deptype = 'e')
      ORDER BY 1 LIMIT 1`,
    values: [ownTables],
  })
  if (foreign[0] !== undefined)
    throw new TargetNotEmptyError(`${here} holds other tables, such as ${foreign[0].name}`)
  const { rows: found } = await connection.query<{ name: string }>({
    text: `SELECT relname AS name FROM pg_class
      WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'`,
  })
  if (found.length === 0) return
  if (!found.some(({ name }) => name === 'schema_migrations'))
    throw new TargetNotEmptyError(`${here} holds other tables, such as ${found[0]?.name}`)
  requireKnown(migrations, await recordedMigrations(connection))
  const moved = await readMoved(connection)
  if (moved?.state === 'left') throw leftFor(moved, here)
  const holder = found.some(({ name }) => name === 'server') ? await readHolder(connection) : undefined
  const isRest = moved?.state === 'arrived' && holder === serverId
  if (holder !== undefined && !isRest) throw new TargetNotEmptyError(`${here} holds an installation already`)
}

async function readHolder(connection: PostgresConnection): Promise<string | undefined> {
  const { rows } = await connection.query<{ server_id: string }>({ text: 'SELECT server_id FROM server' })
  return rows[0]?.server_id
}
