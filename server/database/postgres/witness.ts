/**
 * The witness of a node: the last id of each lane that a COMMIT confirmed to it. If the database holds less, it
 * has lost confirmed writes: a backup was restored, or a failover went to a standby that was behind. The node
 * then serves nothing until `bridge server restored` has run.
 *
 * - The node compares on each new connection, at each beat, and for the lanes of each group of writes.
 * - It keeps the witness in memory and, at most 1 s later, in a file of the data folder. After a stop the file
 *   is complete.
 * - Each group that changed rows advances its lanes, even if it made no id.
 * - Beats are not compared: a lost beat loses no confirmed write. `timeline.ts` covers what has no lane.
 * - The database also records its own place: its cluster and its number there. A dump that was loaded elsewhere
 *   has another place, whatever the data folder knows.
 */
import { readFileSync } from 'node:fs'
import { open, rename } from 'node:fs/promises'
import { isProject } from '../lanes.ts'
import type { PostgresConnection } from './connection.ts'
import { synchronousText, timelineText } from './timeline.ts'

/** The database holds less than it confirmed, or lies in another place than the node recorded. */
export class DatabaseForgotError extends Error {
  override readonly name = 'DatabaseForgotError'
}

/** Content of the file. */
export interface Witnessed {
  readonly server_id: string
  /** The last confirmed id of each lane. */
  readonly lanes: Readonly<Record<string, string>>
  /** Whether the server stopped after it had written this file, so that the file is complete. */
  readonly stopped: boolean
  /** Time of `bridge server restored`, if no server has served the database since. */
  readonly restored_at?: string
}

export interface WitnessOptions {
  /** Path of the file. Without one, the witness is in memory only. */
  readonly file: string | undefined
  readonly serverId: string
  /** Called once, with the first thing that the database has forgotten while the server runs. */
  readonly onForgotten?: ((error: DatabaseForgotError) => void) | undefined
}

const writeEveryMs = 1000

/** Returns what the file says about this installation. */
export function readWitnessed(file: string, serverId: string): Witnessed | undefined {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  const found = JSON.parse(text) as Witnessed
  return found.server_id === serverId ? found : undefined
}

/** Replaces the file in one step, and waits for the disk. */
export async function writeWitnessed(file: string, witnessed: Witnessed): Promise<void> {
  const partial = `${file}.partial`
  const handle = await open(partial, 'w', 0o600)
  try {
    await handle.writeFile(`${JSON.stringify(witnessed)}\n`)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(partial, file)
}

export class Witness {
  readonly #options: WitnessOptions
  readonly #lanes: Map<string, string>
  #isTold = false
  #holds = true
  #hasChanged = false
  #writing: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(options: WitnessOptions) {
    this.#options = options
    const { file, serverId } = options
    const known = file === undefined ? undefined : readWitnessed(file, serverId)
    this.#lanes = new Map(Object.entries(known?.lanes ?? {}))
  }

  /** Keeps the file up to date until `close`. Only the server does. The file then says that it is not complete. */
  async keep(onError: (error: unknown) => void = () => {}): Promise<void> {
    await this.#write(false)
    const look = () => {
      if (!this.#hasChanged) return
      this.#writing ??= this.#write(false)
        .catch(onError)
        .finally(() => {
          this.#writing = undefined
        })
    }
    this.#timer = setInterval(look, writeEveryMs).unref()
  }

  /** Notes that a COMMIT confirmed this id for these lanes. */
  note(lanes: Iterable<string>, last: string): void {
    for (const lane of lanes) if ((this.#lanes.get(lane) ?? '') < last) this.#lanes.set(lane, last)
    this.#hasChanged = true
  }

  /** The greatest confirmed id. */
  get greatest(): string | undefined {
    return [...this.#lanes.values()].sort().at(-1)
  }

  /** Whether the last comparison found everything. */
  get holds(): boolean {
    return this.#holds
  }

  /** Compares lanes as a group found them. @throws DatabaseForgotError */
  check(found: ReadonlyMap<string, string>): void {
    for (const [lane, last] of found) {
      const confirmed = this.#lanes.get(lane)
      if (confirmed !== undefined && last < confirmed) throw this.#forgotten(lossWords(lane, confirmed, last))
    }
  }

  /** Compares the whole database. @throws DatabaseForgotError, and errors of the connection */
  async verify(connection: PostgresConnection): Promise<void> {
    // A write that is confirmed while the query runs may be missing in its answer.
    const confirmed = new Map(this.#lanes)
    const { place, recorded, lanes } = await readHeld(connection)
    const loss = lossOf(confirmed, lanes)
    if (loss !== undefined) throw this.#forgotten(loss)
    if (recorded !== undefined && recorded !== place) throw this.#forgotten(elsewhere)
    this.#holds = true
  }

  /** Says what these lanes lack. */
  lossOf(found: ReadonlyMap<string, string>): string | undefined {
    return lossOf(this.#lanes, found)
  }

  #forgotten(text: string): DatabaseForgotError {
    const error = new DatabaseForgotError(text)
    if (this.#timer !== undefined && !this.#isTold) this.#options.onForgotten?.(error)
    this.#isTold = true
    this.#holds = false
    return error
  }

  async #write(stopped: boolean): Promise<void> {
    const { file, serverId } = this.#options
    if (file === undefined) return
    this.#hasChanged = false
    try {
      await writeWitnessed(file, { server_id: serverId, lanes: Object.fromEntries(this.#lanes), stopped })
    } catch (error) {
      this.#hasChanged = true
      throw error
    }
  }

  /** Writes the file a last time, if the server kept it. */
  async close(): Promise<void> {
    if (this.#timer === undefined) return
    clearInterval(this.#timer)
    await this.#writing
    await this.#write(true)
  }
}

const elsewhere =
  'this database was loaded from a dump or lies on another cluster than before, so it may lack confirmed writes'

/** Says what the first lane that lacks something lacks. */
function lossOf(
  confirmed: ReadonlyMap<string, string>,
  found: ReadonlyMap<string, string>,
): string | undefined {
  for (const [lane, last] of confirmed) {
    const held = found.get(lane) ?? ''
    if (held < last) return lossWords(lane, last, held)
  }
  return undefined
}

function lossWords(lane: string, confirmed: string, held: string): string {
  const name = isProject(lane) ? `project ${lane}` : 'the installation'
  const upTo = held === '' ? 'and now holds none' : `and now holds them up to ${confirmedTime(held)}`
  return `the database has lost confirmed writes: for ${name} it confirmed them up to ${confirmedTime(confirmed)} ${upTo}; a backup was restored, or a failover lost them`
}

/** The time in an id. Empty if there is no id. */
export function confirmedTime(id: string): string {
  const ms = Number.parseInt(id.replace('-', '').slice(0, 12), 16)
  return Number.isNaN(ms) ? '' : new Date(ms).toISOString()
}

interface Held {
  /** Cluster of the database, and its number there. */
  readonly place: string
  /** The place that the database recorded. */
  readonly recorded: string | undefined
  readonly lanes: ReadonlyMap<string, string>
}

export async function readHeld(connection: PostgresConnection): Promise<Held> {
  const { rows } = await connection.query<{
    lane: string | null
    last: string
    place: string
    recorded: string
  }>({
    text: `SELECT lane, last, ${placeText} AS place, (SELECT place FROM place) AS recorded
      FROM (SELECT 1) AS one LEFT JOIN lanes ON true`,
  })
  const lanes = rows.flatMap(({ lane, last }) => (lane === null ? [] : [[lane, last] as const]))
  return { place: rows[0]?.place ?? '', recorded: rows[0]?.recorded ?? undefined, lanes: new Map(lanes) }
}

const placeText = `(SELECT system_identifier FROM pg_control_system())::text || ' ' ||
  (SELECT oid FROM pg_database WHERE datname = current_database())::text`

/** Records the place and the timeline of the database, the first time or after a restore. */
export async function recordPlace(connection: PostgresConnection, { replace = false } = {}): Promise<void> {
  await connection.query({
    text: `INSERT INTO place (one, place, timeline, synchronous)
      VALUES (1, ${placeText}, ${timelineText}, ${synchronousText})
      ON CONFLICT (one) DO ${
        replace
          ? 'UPDATE SET place = excluded.place, timeline = excluded.timeline, synchronous = excluded.synchronous'
          : 'NOTHING'
      }`,
  })
}
