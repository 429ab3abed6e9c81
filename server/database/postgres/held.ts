/** The ids of a database that nodes compare with their witness. `witness.ts` says why. */
import type { PostgresConnection } from './connection.ts'
import { keptAfter } from './epochs.ts'
import { synchronousText, timelineText } from './timeline.ts'

export interface Held {
  /** Cluster of the database, and its number there. */
  readonly place: string
  /** The place that the database recorded. */
  readonly recorded: string | undefined
  readonly timeline: string | undefined
  /** See `epochs.ts`. Undefined if an older program made the database last. */
  readonly epoch: number | undefined
  /** Number of the last beat of the node. Undefined if the node is not one that serves. */
  readonly beat: number | undefined
  /** The loss that a node has found. */
  readonly forgotten: string | undefined
  /** Time of the last `bridge server restored`, 0 if there was none. */
  readonly acceptedMs: number
  /** Whether other nodes serve beside this one. */
  readonly hasOthers: boolean
  /** The last id of each lane. */
  readonly lanes: ReadonlyMap<string, string>
  /** The lowest last id of each lane when a later timeline or epoch began. Undefined if none has begun. */
  readonly kept: ReadonlyMap<string, string> | undefined
}

export interface Comparing {
  /** Timeline at the last comparison. */
  readonly timeline?: string | undefined
  /** Epoch at the last comparison. Without it, later epochs are not compared. */
  readonly epoch?: number | undefined
  readonly nodeId?: string | undefined
}

interface Row {
  readonly lane: string | null
  readonly last: string
  readonly place: string
  readonly timeline: string | null
  readonly recorded: Readonly<Record<string, unknown>> | null
  readonly others: number
  readonly beat: number | null
}

export async function readHeld(connection: PostgresConnection, from: Comparing = {}): Promise<Held> {
  const { rows } = await connection.query<Row>({
    // A database that an older program made last lacks columns of `place`.
    text: `SELECT lane, last, ${placeText} AS place, ${timelineText} AS timeline,
        (SELECT to_jsonb(held) FROM place AS held) AS recorded,
        (SELECT count(*) FILTER (WHERE id <> $1) * count(*) FILTER (WHERE id = $1) FROM nodes) AS others,
        (SELECT (to_jsonb(own) ->> 'beat')::bigint FROM nodes AS own WHERE id = $1) AS beat
      FROM (SELECT 1) AS one LEFT JOIN lanes ON true`,
    values: [from.nodeId ?? ''],
  })
  const [row] = rows
  const { place, accepted_ms, forgotten, epoch: recorded } = row?.recorded ?? {}
  const epoch = typeof recorded === 'number' ? recorded : undefined
  const timeline = row?.timeline ?? undefined
  const isLater = accepted_ms !== undefined && from.timeline !== undefined && from.timeline !== timeline
  const isOtherEpoch = epoch !== undefined && from.epoch !== undefined && from.epoch !== epoch
  return {
    place: row?.place ?? '',
    recorded: typeof place === 'string' ? place : undefined,
    timeline,
    epoch,
    beat: row?.beat ?? undefined,
    forgotten: typeof forgotten === 'string' ? forgotten : undefined,
    acceptedMs: Number(accepted_ms ?? 0),
    hasOthers: (row?.others ?? 0) > 0,
    lanes: new Map(rows.flatMap(({ lane, last }) => (lane === null ? [] : [[lane, last] as const]))),
    kept: isLater || isOtherEpoch ? await readKept(connection, from, isOtherEpoch) : undefined,
  }
}

async function readKept(connection: PostgresConnection, from: Comparing, isOtherEpoch: boolean) {
  const later = 'SELECT lane, last FROM kept_lanes WHERE timeline > $1'
  const { rows } = await connection.query<{ lane: string; last: string }>({
    text: `SELECT lane, min(last) AS last FROM (${isOtherEpoch ? `${later} UNION ALL ${keptAfter}` : later}) AS kept
      GROUP BY lane`,
    values: [from.timeline ?? null, ...(isOtherEpoch ? [from.epoch] : [])],
  })
  return rows.length === 0 ? undefined : new Map(rows.map(({ lane, last }) => [lane, last]))
}

/** Records the loss, so that no node serves the database. */
export async function recordLoss(connection: PostgresConnection, text: string): Promise<void> {
  await connection.query({ text: 'UPDATE place SET forgotten = $1 WHERE forgotten IS NULL', values: [text] })
}

const placeText = `(SELECT system_identifier FROM pg_control_system())::text || ' ' ||
  (SELECT oid FROM pg_database WHERE datname = current_database())::text`

/** Returns the cluster of the database, and its number there. */
export async function placeOf(connection: PostgresConnection): Promise<string> {
  const { rows } = await connection.query<{ place: string }>({ text: `SELECT ${placeText} AS place` })
  return rows[0]?.place ?? ''
}

const record = `INSERT INTO place (one, place, timeline, synchronous, accepted_ms)
  VALUES (1, ${placeText}, ${timelineText}, ${synchronousText}, $1) ON CONFLICT (one) DO`

/** Records the place and the timeline of the database, the first time. */
export async function recordPlace(connection: PostgresConnection): Promise<void> {
  await connection.query({ text: `${record} NOTHING`, values: [0] })
}

/** Records that `bridge server restored` accepts the database as it is. */
export async function recordAcceptance(connection: PostgresConnection, acceptedMs: number): Promise<void> {
  await connection.query({
    text: `WITH gone AS (DELETE FROM kept_lanes), gone_too AS (DELETE FROM kept_epochs)
      ${record} UPDATE SET place = excluded.place, timeline = excluded.timeline, forgotten = NULL,
        synchronous = excluded.synchronous, accepted_ms = excluded.accepted_ms`,
    values: [acceptedMs],
  })
}
