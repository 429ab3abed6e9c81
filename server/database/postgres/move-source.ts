/**
 * A PostgreSQL database from which an installation moves. The command serves as its node meanwhile, so that
 * no other one starts, and holds locks that let other processes only read.
 */
import { NotInitialisedError } from '../../storage/data-folder.ts'
import { migrations } from '../migrations/index.ts'
import { type Moved, requireHere, shownUrl } from '../moved.ts'
import { type Columns, copiedTables, type Rows } from '../row-copy.ts'
import { PostgresConnection, unlimitedAnswers } from './connection.ts'
import { readKeyCheck } from './envelope-key.ts'
import { Link } from './link.ts'
import { migrate } from './migrate.ts'
import { postgresRows, readMoved, writeMoved } from './moving.ts'
import { beatEveryMs, joinDatabase, leaveDatabase } from './nodes.ts'
import { requireFit } from './probe.ts'
import { Timeline } from './timeline.ts'
import { Witness } from './witness.ts'

/** A page of a table may take longer than a statement of a node. */
const answerWithinMs = 3_600_000

export interface MoveSource {
  readonly serverId: string
  /** The record by which the installation has left already. The rows must not be read then. */
  readonly left: Moved | undefined
  /** See `storage/envelope-keys.ts`. */
  readonly keyCheck: string | null
  rows(columns: Columns): Rows
  /** Records that the installation has left. If this fails, the record may have been stored. */
  depart(departure: Moved): Promise<void>
  close(): Promise<void>
}

export interface SourceOptions {
  readonly url: string
  readonly nodeId: string
  /** Version of the program. */
  readonly version: string
  /** File of the witness. A database that has lost confirmed writes is refused. */
  readonly witnessFile: string
  readonly clock: () => Date
}

/**
 * @throws UnfitDatabaseError, NotInitialisedError, NewerDatabaseError, DatabaseForgotError,
 * MoveUnfinishedError, DatabaseServedError; errors of connecting
 */
export async function openMoveSource({
  url,
  nodeId,
  version,
  clock,
  witnessFile,
}: SourceOptions): Promise<MoveSource> {
  const limits = { ...unlimitedAnswers, answerWithinMs }
  const connection = await PostgresConnection.open({ url, limits })
  const link = new Link({ url })
  let stay: NodeJS.Timeout | undefined
  const close = async () => {
    await connection.close()
    clearInterval(stay)
    if (stay !== undefined) await leaveDatabase(link, nodeId)
  }
  try {
    await requireFit(connection)
    await migrate(connection, migrations, clock)
    const serverId = await readServerId(connection)
    await new Witness({ file: witnessFile, serverId }).verify(connection)
    await new Timeline({ latest: clock }).settle(connection)
    const found = await readMoved(connection)
    const left = found?.state === 'left' ? found : undefined
    if (left === undefined) requireHere(found, shownUrl(url))
    if (left === undefined) {
      const node = { id: nodeId, name: 'move', version, program: migrations.length, settings: undefined }
      await joinDatabase(connection, node)
      stay = setInterval(() => void beat(link, nodeId), beatEveryMs).unref()
      await connection.query({ text: lockAll })
    }
    return {
      ...{ serverId, left, close },
      keyCheck: await readKeyCheck(connection),
      rows: (columns) => postgresRows(connection, columns),
      async depart(departure) {
        await writeMoved(connection, departure)
        await connection.query({ text: 'COMMIT' })
      },
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** Says that the move still runs. If it fails, the next one follows. */
async function beat(link: Link, id: string): Promise<void> {
  try {
    const { connection } = await link.get()
    await connection.query({
      text: 'UPDATE nodes SET seen_at = clock_timestamp() WHERE id = $1',
      values: [id],
    })
  } catch {
    // The locks of the move keep other nodes out, too.
  }
}

const lockAll = `BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0;
  SET LOCAL lock_timeout = '30s';
  LOCK TABLE ${[...copiedTables.map(({ name }) => name), 'lanes', 'moved'].join(', ')} IN SHARE MODE`

async function readServerId(connection: PostgresConnection): Promise<string> {
  const { rows } = await connection.query<{ server_id: string }>({ text: 'SELECT server_id FROM server' })
  if (rows[0] !== undefined) return rows[0].server_id
  throw new NotInitialisedError('the database holds no installation')
}
