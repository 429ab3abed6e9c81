/**
 * The timeline of the database. A failover begins a new one.
 *
 * If commits did not wait for a synchronous standby before it, the failover may have lost nonces of requests
 * that stored nothing else, which the witness does not cover. So the replay floor is raised as after a
 * restore: requests that were signed before are refused.
 *
 * The database and the node both remember whether commits waited. The database may have lost its last record.
 */
import { floorAfterLoss } from '../nonces.ts'
import type { PostgresConnection } from './connection.ts'

/** Names the timeline, in eight characters. Null on a standby. */
export const timelineText =
  'CASE WHEN pg_is_in_recovery() THEN NULL ELSE left(pg_walfile_name(pg_current_wal_lsn()), 8) END'

/** 1 if a commit waits until a second machine has it. */
export const synchronousText = `(current_setting('synchronous_standby_names') <> ''
  AND current_setting('synchronous_commit') NOT IN ('local', 'off'))::int`

interface Found {
  readonly timeline: string | null
  readonly synchronous: number
  /** None if the installation is new, or if an older program served the database last. */
  readonly recorded: string | null
  readonly was_synchronous: number | null
  readonly floor: number | null
}

export interface TimelineOptions {
  /** Latest time at which the node may have accepted a request. */
  readonly latest: () => Date
  /** Called with the raised floor, in Unix seconds. */
  readonly onFailover?: ((floor: number) => void) | undefined
}

/** Timeline of a database, as one process knows it. */
export class Timeline {
  readonly #options: TimelineOptions
  #wasSynchronous = true
  #name: string | undefined
  /** The last failover that was reported. */
  #reported: string | undefined
  #floor = 0

  constructor(options: TimelineOptions) {
    this.#options = options
  }

  /** The replay floor when the database was last asked. */
  get floor(): number {
    return this.#floor
  }

  /** Whether commits waited for a synchronous standby when the database was last asked. */
  get isSynchronous(): boolean {
    return this.#wasSynchronous
  }

  /** Returns whether a failover has happened since `settle`. */
  isOther(name: string): boolean {
    return this.#name !== undefined && name !== this.#name
  }

  /**
   * Raises the floor if the timeline is a new one, and records it. Runs on each new connection and at each
   * beat.
   */
  async settle(connection: PostgresConnection): Promise<void> {
    const found = await read(connection)
    if (found?.timeline == null) return
    const { timeline, recorded, synchronous } = found
    const isRecorded = recorded === timeline && found.was_synchronous === synchronous
    const isNew = recorded !== null && recorded !== timeline
    const isLossy = isNew && !(this.#wasSynchronous && found.was_synchronous === 1)
    const raised = isLossy ? floorAfterLoss(this.#options.latest()) : 0
    if (!isRecorded)
      await connection.query({ text: record, values: [timeline, synchronous, raised, isNew ? 1 : 0] })
    if (isNew) await connection.query({ text: removeOldest, values: [timeline] })
    const floor = isRecorded ? found.floor : (await read(connection))?.floor
    this.#floor = Math.max(this.#floor, floor ?? 0)
    this.#wasSynchronous = synchronous === 1
    this.#name = timeline
    // Connections that open together report one failover. One that found it recorded reports nothing, and may be
    // done first.
    if (!isLossy || this.#reported === timeline) return
    this.#reported = timeline
    this.#options.onFailover?.(this.#floor)
  }
}

/**
 * Keeps the last ids of all lanes as the database held them before a node wrote on the new timeline. If two
 * connections record the same timeline, the second one waits for the first, and then changes nothing.
 */
const record = `WITH moved AS (
    UPDATE place SET timeline = $1, synchronous = $2
      WHERE timeline IS DISTINCT FROM $1 OR synchronous <> $2 RETURNING 1
  ), kept AS (
    INSERT INTO kept_lanes (timeline, lane, last)
      SELECT $1, lane, last FROM lanes WHERE $4 = 1 AND EXISTS (SELECT 1 FROM moved) ON CONFLICT DO NOTHING
  )
  UPDATE replay_floor SET floor = $3 WHERE floor < $3 AND EXISTS (SELECT 1 FROM moved)`

/** Those of the last 32 timelines stay, for nodes that were stopped for that long. */
const removeOldest = `DELETE FROM kept_lanes WHERE timeline <> $1 AND timeline NOT IN
  (SELECT DISTINCT timeline FROM kept_lanes ORDER BY timeline DESC LIMIT 32)`

async function read(connection: PostgresConnection): Promise<Found | undefined> {
  const { rows } = await connection.query<Found>({
    text: `SELECT ${timelineText} AS timeline, ${synchronousText} AS synchronous,
      timeline AS recorded, synchronous AS was_synchronous, (SELECT floor FROM replay_floor) AS floor
      FROM (SELECT 1) AS one LEFT JOIN place ON true`,
  })
  return rows[0]
}
