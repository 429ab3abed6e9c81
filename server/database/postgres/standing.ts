/** How a database stands to the witness of the server that served it last; see `witness.ts`. */
import { NotInitialisedError } from '../../storage/data-folder.ts'
import { migrations } from '../migrations/index.ts'
import { PostgresConnection } from './connection.ts'
import { type Held, readHeld, recordAcceptance } from './held.ts'
import { migrate, recordedMigrations } from './migrate.ts'
import { confirmedTime, DatabaseForgotError, Witness } from './witness.ts'
import { readWitnessed, writeWitnessed } from './witness-file.ts'

export interface Standing {
  /** Number of its last migration. */
  readonly migration: number
  /**
   * Description of the lost writes, or the reason why it is another database. Undefined if the node found
   * nothing.
   */
  readonly forgotten: string | undefined
  /** The last server served alone and stopped, and the database holds everything that it confirmed. */
  readonly isComplete: boolean
  /** Time of the last confirmed write, empty if it is unknown. */
  readonly confirmedAt: string
  /** Time of the finished restore, if no server has served the database since. */
  readonly restoredAt: string | undefined
}

/** Migrates the database and compares it. @throws NotInitialisedError, NewerDatabaseError */
export async function standingOf(url: string, file: string, clock: () => Date): Promise<Standing> {
  const connection = await PostgresConnection.open({ url })
  try {
    const migration = (await recordedMigrations(connection)).at(-1)?.number ?? 0
    if (migration === 0) throw new NotInitialisedError('the database holds no installation')
    await migrate(connection, migrations, clock)
    const serverId = await readServerId(connection)
    const witnessed = readWitnessed(file, serverId)
    const witness = new Witness({ file, serverId })
    const held = await readHeld(connection, { timeline: witnessed?.timeline, epoch: witnessed?.epoch })
    const lost = witness.lossOf(held) ?? held.forgotten
    const forgotten = await witness.verify(connection).then(
      () => undefined,
      (error: unknown) => {
        if (error instanceof DatabaseForgotError) return error.message
        throw error
      },
    )
    const wasLast = witnessed?.stopped === true && (witnessed.epoch ?? 0) === (held.epoch ?? 0)
    const isComplete = wasLast && witnessed.shared !== true && lost === undefined
    const isSame =
      forgotten === undefined && held.recorded === held.place && !hasWrites(held, witnessed?.lanes)
    return {
      ...{ migration, forgotten, isComplete },
      confirmedAt: confirmedTime(witness.greatest ?? ''),
      restoredAt: isSame ? witnessed?.restored_at : undefined,
    }
  } finally {
    await connection.close()
  }
}

/** Whether the database holds writes that came after these ids. */
const hasWrites = ({ lanes }: Held, known: Readonly<Record<string, string>> = {}): boolean =>
  [...lanes].some(([lane, last]) => last > (known[lane] ?? ''))

/** Accepts the database as it is: later comparisons of all nodes begin here. */
export async function acceptDatabase(url: string, file: string, now: Date): Promise<void> {
  const connection = await PostgresConnection.open({ url })
  try {
    const serverId = await readServerId(connection)
    const { lanes, timeline, epoch, acceptedMs } = await readHeld(connection)
    const earlierMs = Math.max(acceptedMs, readWitnessed(file, serverId)?.accepted_ms ?? 0)
    // Later than every earlier one, also if the clock was set back.
    const accepted_ms = Math.max(now.getTime(), earlierMs + 1)
    await recordAcceptance(connection, accepted_ms)
    // Not the file of a server that has stopped: other nodes may serve now, and this host learns nothing of them.
    await writeWitnessed(file, {
      ...{
        server_id: serverId,
        lanes: Object.fromEntries(lanes),
        stopped: false,
        timeline,
        epoch,
        accepted_ms,
      },
      restored_at: now.toISOString(),
    })
  } finally {
    await connection.close()
  }
}

async function readServerId(connection: PostgresConnection): Promise<string> {
  const { rows } = await connection.query<{ server_id: string }>({ text: 'SELECT server_id FROM server' })
  const [row] = rows
  if (row === undefined) throw new NotInitialisedError('the database holds no installation')
  return row.server_id
}
