/**
 * The witness of a node: the last id of each lane that a COMMIT confirmed to it. If the database holds less,
 * it has lost confirmed writes: a backup was restored, or a failover went to a standby that was behind. The
 * node then serves nothing until `bridge server restored` has run.
 *
 * - The node compares on each new connection, at each beat, and for the lanes of each group of writes.
 * - It keeps the witness in memory and, at most 1 s later, in a file of the data folder. After a stop the
 *   file is complete.
 * - Each group that changed rows advances its lanes, even if it made no id.
 * - It compares its own last beat too. Nobody else writes it, so writes of other nodes do not hide a restored
 *   backup from a node that ran meanwhile.
 * - `timeline.ts` covers what has no lane.
 * - The database also records its own place: its cluster and its number there. A dump that was loaded
 *   elsewhere has another place, whatever the data folder knows.
 *
 * Several nodes have a witness each, and none knows what was confirmed to the others:
 *
 * - The first node on a new timeline keeps the last ids of all lanes before it writes. The others compare
 *   with these, so writes that follow a loss do not hide it. So does a node that joins while no other is alive, for
 *   nodes that have stopped; see `epochs.ts`.
 * - A node that finds a loss records it in the database. Then no node serves, because the lost writes may
 *   have revoked an access.
 * - `bridge server restored` on any host records its time. A node that knows an earlier one forgets its
 *   witness and serves again.
 */
import { isProject } from '../lanes.ts'
import type { PostgresConnection } from './connection.ts'
import { type Held, readHeld, recordLoss } from './held.ts'
import { readWitnessed, writeWitnessed } from './witness-file.ts'

/** The database holds less than it confirmed, or lies in another place than the node recorded. */
export class DatabaseForgotError extends Error {
  override readonly name = 'DatabaseForgotError'
}

export interface WitnessOptions {
  /** Path of the file. Without one, the witness is in memory only. */
  readonly file: string | undefined
  readonly serverId: string
  /** Id of the node, for the server. It records a loss for the other nodes. */
  readonly nodeId?: string | undefined
  /** Called once, with the first thing that the database has forgotten while the server runs. */
  readonly onForgotten?: ((error: DatabaseForgotError) => void) | undefined
  /** Called if `bridge server restored` has accepted the database, with what the witness knew. */
  readonly onAccepted?: ((text: string) => void) | undefined
}

/** A beat that the database has confirmed. */
export interface ConfirmedBeat {
  readonly beat: number
  readonly timeline: string | null
}

const writeEveryMs = 1000

export class Witness {
  readonly #options: WitnessOptions
  readonly #lanes: Map<string, string>
  #greatest: string | undefined
  #timeline: string | undefined
  #epoch: number | undefined
  #beat: ConfirmedBeat | undefined
  #acceptedMs: number
  #isShared: boolean
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
    this.#greatest = [...this.#lanes.values()].sort().at(-1)
    this.#timeline = known?.timeline
    this.#epoch = known?.epoch
    this.#acceptedMs = known?.accepted_ms ?? 0
    this.#isShared = known?.shared ?? false
  }

  /**
   * Keeps the file up to date until `close`. Only the server does. The file then says that it is not
   * complete. A failed write is repeated every second, and reported once until one succeeds.
   */
  async keep(onError: (error: unknown) => void = () => {}): Promise<void> {
    await this.#write(false)
    let hasFailed = false
    const write = async () => {
      try {
        await this.#write(false)
        hasFailed = false
      } catch (error) {
        if (!hasFailed) onError(error)
        hasFailed = true
      }
    }
    const look = () => {
      if (!this.#hasChanged) return
      this.#writing ??= write().finally(() => {
        this.#writing = undefined
      })
    }
    this.#timer = setInterval(look, writeEveryMs).unref()
  }

  /** Notes that a COMMIT confirmed this id for these lanes. */
  note(lanes: Iterable<string>, last: string): void {
    for (const lane of lanes) if ((this.#lanes.get(lane) ?? '') < last) this.#lanes.set(lane, last)
    if ((this.#greatest ?? '') < last) this.#greatest = last
    this.#hasChanged = true
  }

  /** Notes the last confirmed beat. A node that joins again goes on from it. */
  noteBeat(beat: ConfirmedBeat): void {
    this.#beat = beat
  }

  /** The greatest confirmed id. */
  get greatest(): string | undefined {
    return this.#greatest
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
    const beat = this.#beat
    const { nodeId } = this.#options
    // A COMMIT of a running node may be confirmed after others have counted it as ended and begun an epoch.
    const epoch = this.#timer === undefined ? this.#epoch : undefined
    const held = await readHeld(connection, { timeline: this.#timeline, epoch, nodeId })
    const isHere = isAtHome(held)
    const isAccepted = isHere && held.acceptedMs > this.#acceptedMs
    if (isAccepted) this.#accept(confirmed, held)
    const lacksBeat = isHere && !isAccepted && isBefore(held, beat)
    const loss = this.lossOf(held, confirmed) ?? (lacksBeat ? earlier : undefined)
    if (loss !== undefined) {
      await this.#record(connection, held, loss)
      throw this.#forgotten(loss)
    }
    if (!isHere) throw this.#forgotten(elsewhere)
    if (held.forgotten !== undefined) throw this.#forgotten(`another node found: ${held.forgotten}`)
    this.#holds = true
    const isShared = this.#isShared || held.hasOthers
    // A slow answer may come from an earlier timeline than that of another connection.
    const timeline = latest(this.#timeline, held.timeline)
    const last = Math.max(this.#epoch ?? 0, held.epoch ?? 0)
    if (this.#timeline === timeline && this.#epoch === last && this.#isShared === isShared) return
    this.#timeline = timeline
    this.#epoch = last
    this.#isShared = isShared
    this.#hasChanged = true
  }

  /**
   * Records a loss that `check` found. The next comparison may find nothing, because another node has written to
   * the lane meanwhile.
   */
  async record(connection: PostgresConnection, { message }: DatabaseForgotError): Promise<void> {
    await this.#record(connection, await readHeld(connection), message)
  }

  async #record(connection: PostgresConnection, held: Held, loss: string): Promise<void> {
    // A node that was sent to a copy of the database by mistake does not stop the nodes of that copy.
    const isOwn = isAtHome(held) && held.acceptedMs === this.#acceptedMs
    const isServer = this.#options.nodeId !== undefined
    if (isServer && isOwn && held.forgotten === undefined) await recordLoss(connection, loss)
  }

  /** Says what the database lacks. */
  lossOf(held: Held, confirmed: ReadonlyMap<string, string> = this.#lanes): string | undefined {
    const found = held.kept ?? held.lanes
    for (const [lane, last] of confirmed) {
      const holds = found.get(lane) ?? held.lanes.get(lane) ?? ''
      if (holds < last) return lossWords(lane, last, holds)
    }
    return held.acceptedMs < this.#acceptedMs ? older : undefined
  }

  /** Forgets what was confirmed before `bridge server restored`. */
  #accept(confirmed: Map<string, string>, { acceptedMs, timeline, epoch }: Held): void {
    const last = [...confirmed.values()].sort().at(-1)
    for (const [lane, id] of confirmed) if (this.#lanes.get(lane) === id) this.#lanes.delete(lane)
    confirmed.clear()
    this.#acceptedMs = acceptedMs
    this.#timeline = timeline
    this.#epoch = epoch
    this.#beat = undefined
    this.#isTold = false
    this.#isShared = false
    this.#hasChanged = true
    if (last === undefined) return
    const at = new Date(acceptedMs).toISOString()
    this.#options.onAccepted?.(
      `bridge server restored accepted the database at ${at}; it may lack writes that it confirmed to this node up to ${confirmedTime(last)}`,
    )
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
      await writeWitnessed(file, {
        ...{ server_id: serverId, lanes: Object.fromEntries(this.#lanes), stopped },
        ...{
          timeline: this.#timeline,
          epoch: this.#epoch,
          accepted_ms: this.#acceptedMs,
          shared: this.#isShared,
        },
      })
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

const latest = (one = '', other = '') => (one < other ? other : one)

/** Whether the database is older than the beat. A failover to a later timeline may lose a beat and no other write. */
const isBefore = (held: Held, confirmed: ConfirmedBeat | undefined): boolean =>
  confirmed !== undefined &&
  held.beat !== undefined &&
  (held.timeline ?? '~') <= (confirmed.timeline ?? '') &&
  held.beat < confirmed.beat

const isAtHome = ({ recorded, place }: Held): boolean => recorded === undefined || recorded === place

const elsewhere =
  'this database was loaded from a dump or lies on another cluster than before, so it may lack confirmed writes'

const earlier =
  'the database has lost confirmed writes: it is older than the last beat of this node; a backup was restored while the node ran'

const older =
  'the database has lost confirmed writes: it is older than the last bridge server restored that this node knows'

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
