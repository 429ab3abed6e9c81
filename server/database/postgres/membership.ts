/**
 * Keeps this node among those that serve its database, by the clock of the database.
 *
 * - A beat every two seconds says that the node is alive. If its last beat is older than ten seconds, the
 *   others count it as ended and remove it. It then answers nothing until it has joined again.
 * - One node leads: it holds a lease, see `lease.ts`. The others look every second whether it is free.
 * - If the clock of the database is set, all beats look old or in the future. A node notices the step when it
 *   beats. It then removes no node for ten seconds, in which every node beats by the new clock.
 * - A node believes in its own beat and lease from the moment it asked for them. So it stops believing before
 *   the others do. If the clock of the database is set ahead by more than a lease, two nodes may lead for
 *   seconds, which every job stands.
 */
import { ApiError } from '../../api-error.ts'
import { Outage } from '../../outage.ts'
import { retryAfterMs } from '../../retry-after.ts'
import type { EndedEntry, NodeEntry, NodeLoad, Nodes } from '../nodes.ts'
import { deadAfterMs } from './alive.ts'
import type { PostgresConnection } from './connection.ts'
import { EndedNodes, type SeenNode } from './ended-nodes.ts'
import { Lease, lookEveryMs } from './lease.ts'
import type { Link } from './link.ts'
import {
  beatEveryMs,
  isAlive,
  type Joining,
  leaveDatabase,
  lookAtNodes,
  OutdatedProgramError,
  removeDead,
  tryJoining,
} from './nodes.ts'
import { timelineText } from './timeline.ts'
import { type ConfirmedBeat, DatabaseForgotError } from './witness.ts'

/** A node beside which this one cannot serve has taken its place, so this process must stop. */
export class TakenOverError extends Error {
  override readonly name = 'TakenOverError'
}

export interface MembershipOptions {
  /** A connection of its own, because that of the writer is inside transactions. */
  readonly link: Link
  readonly node: Joining
  readonly load: () => NodeLoad
  readonly monotonicMs: () => number
  /** Runs at each beat. */
  readonly check: (connection: PostgresConnection) => Promise<void>
  /** Called with each confirmed beat. */
  readonly onBeat: (beat: ConfirmedBeat) => void
  /** Called if a beat fails, once for each cause until a beat succeeds. */
  readonly onError?: ((error: unknown) => void) | undefined
  /** Called once if a node beside which this one cannot serve has taken its place. */
  readonly onTakenOver: (error: TakenOverError) => void
  /** Called once if a migration requires a newer program. The node serves until it has left. */
  readonly onOutdated?: ((error: OutdatedProgramError) => void) | undefined
}

const againAfterMs = 250
/** By how much the clock of the database may run ahead of that of the node between two beats. */
const driftMs = 1000

/** Those of the process, also if something replaces them later: a node whose beats stop counts as ended. */
const { setTimeout: startTimer, clearTimeout: stopTimer } = globalThis

export class Membership implements Nodes {
  readonly id: string
  readonly #options: MembershipOptions
  readonly #acts: (() => void)[] = []
  readonly #returns: (() => void)[] = []
  /** When the last confirmed beat was sent. */
  #beatMs = Number.NEGATIVE_INFINITY
  /** Number of that beat. */
  #beats = 0
  readonly #lease: Lease
  readonly #ended: EndedNodes
  /** When the last beat was sent whose answer arrived. */
  #askedMs: number | undefined
  /** When this node noticed that the clock of the database was set. */
  #clockSetMs = Number.NEGATIVE_INFINITY
  #lagMs = 0
  readonly #outage = new Outage()
  #isLeaving = false
  #isOutdated = false
  /** Ends with the last use of the connection. One at a time, so that no second connection is opened. */
  #last: Promise<unknown> = Promise.resolve()
  #isBeating = false
  #isLooking = false
  #timer: NodeJS.Timeout | undefined
  #looks: NodeJS.Timeout | undefined

  private constructor(options: MembershipOptions) {
    this.#options = options
    this.id = options.node.id
    this.#ended = new EndedNodes(this.id)
    this.#lease = new Lease({
      ...{ holder: this.id, monotonicMs: options.monotonicMs },
      onTaken: () => {
        for (const act of this.#acts) act()
      },
    })
  }

  /** The node has joined already. */
  static async start(options: MembershipOptions): Promise<Membership> {
    const membership = new Membership(options)
    try {
      await membership.#beat(options.monotonicMs())
    } catch (error) {
      await membership.leave()
      throw error
    }
    membership.#plan(beatEveryMs)
    membership.#looks = setInterval(() => membership.#look(), lookEveryMs).unref()
    return membership
  }

  isMember(): boolean {
    return this.#options.monotonicMs() - this.#beatMs < deadAfterMs
  }

  /** Whether the last beat is so recent that the next one may be half a second late. */
  isFresh(): boolean {
    return this.#options.monotonicMs() - this.#beatMs < deadAfterMs / 2
  }

  leads(): boolean {
    return this.isMember() && this.#lease.isHeld()
  }

  async stepDown(): Promise<void> {
    clearInterval(this.#looks)
    this.#lease.giveUp()
    try {
      await this.#inTurn((connection) => this.#lease.free(connection))
    } catch {
      // If the database does not answer, the others wait until the lease is over.
    }
  }

  onLead(act: () => void): void {
    this.#acts.push(act)
  }

  onReturn(act: () => void): void {
    this.#returns.push(act)
  }

  async list(): Promise<NodeEntry[]> {
    try {
      const rows = await this.#inTurn(async (connection) => this.#noted(await lookAtNodes(connection)))
      return rows.filter(isAlive)
    } catch (cause) {
      throw new ApiError('unavailable', { retryAfterMs: retryAfterMs.restart, cause })
    }
  }

  ended(): readonly EndedEntry[] {
    return this.#ended.list()
  }

  #noted(rows: readonly SeenNode[]): readonly SeenNode[] {
    this.#ended.note(rows, this.#options.monotonicMs())
    return rows
  }

  /** The database does not know this node. It answers nothing until it has joined again. */
  noteRemoved(): void {
    this.#beatMs = Number.NEGATIVE_INFINITY
    if (!this.#isBeating) this.#plan(0)
  }

  /** Ends the beats, and frees the lease and the place of this node. */
  async leave(): Promise<void> {
    this.#isLeaving = true
    stopTimer(this.#timer)
    clearInterval(this.#looks)
    await this.#last
    this.#beatMs = Number.NEGATIVE_INFINITY
    await leaveDatabase(this.#options.link, this.id)
  }

  #plan(afterMs: number): void {
    stopTimer(this.#timer)
    const dueMs = this.#options.monotonicMs() + afterMs
    this.#timer = startTimer(() => void this.#run(dueMs), afterMs).unref()
  }

  #inTurn<T>(act: (connection: PostgresConnection) => Promise<T>): Promise<T> {
    const done = this.#last.then(async () => act((await this.#options.link.get()).connection))
    this.#last = done.catch(() => {})
    return done
  }

  /** Takes the lease if it is free. A database that does not answer is reported by the beat. */
  #look(): void {
    if (this.#isLooking || this.#isBeating || !this.isMember()) return
    // The next beat opens a new connection.
    if (this.#options.link.current === undefined) return
    this.#isLooking = true
    this.#inTurn((connection) => this.#lease.keep(connection))
      .catch(() => {})
      .finally(() => {
        this.#isLooking = false
      })
  }

  async #run(dueMs: number): Promise<void> {
    const { monotonicMs, onError = () => {} } = this.#options
    this.#isBeating = true
    try {
      await this.#beat(dueMs)
      this.#outage.end()
      if (!this.#isLeaving) this.#plan(Math.max(0, dueMs + beatEveryMs - monotonicMs()))
    } catch (error) {
      if (!this.#isLeaving) this.#plan(againAfterMs)
      if (!(error instanceof TakenOverError)) {
        if (this.#outage.isNew(error)) onError(error)
        return
      }
      this.#isLeaving = true
      stopTimer(this.#timer)
      this.#options.onTakenOver(error)
    } finally {
      this.#isBeating = false
    }
  }

  #beat(dueMs: number): Promise<void> {
    return this.#inTurn((connection) => this.#beatOn(connection, dueMs))
  }

  async #beatOn(connection: PostgresConnection, dueMs: number): Promise<void> {
    // Before the node joins again, because the database may be another one.
    await this.#check(connection)
    const { load, monotonicMs, onBeat } = this.#options
    const askedMs = monotonicMs()
    const { percent, waits } = load()
    const { rows } = await connection.query<ConfirmedBeat & { oldest: number; elapsed_ms: number }>({
      ...beat,
      values: [this.id, percent, waits, Math.round(this.#lagMs)],
    })
    const [row] = rows
    if (row !== undefined) {
      this.#beats = row.beat
      onBeat(row)
    }
    this.#noteOldest(row?.oldest ?? 0)
    this.#noteElapsed(row?.elapsed_ms, askedMs)
    if (row === undefined) await this.#joinAgain(connection)
    const wasAway = askedMs - this.#beatMs >= deadAfterMs
    this.#lagMs = Math.max(0, monotonicMs() - dueMs)
    this.#beatMs = askedMs
    if (wasAway) for (const act of this.#returns) act()
    if (askedMs - this.#clockSetMs >= deadAfterMs) this.#noted(await removeDead(connection, this.id))
    await this.#lease.keep(connection)
  }

  /**
   * Compares the time between two beats by both clocks. The database knows none if it had no beat of this node,
   * and a shorter one if the answer to a beat was lost.
   */
  #noteElapsed(elapsedMs: number | undefined, askedMs: number): void {
    const lastMs = this.#askedMs
    this.#askedMs = askedMs
    if (elapsedMs === undefined || lastMs === undefined) return
    const mostMs = this.#options.monotonicMs() - lastMs
    if (elapsedMs < -driftMs || elapsedMs > mostMs + driftMs) this.#clockSetMs = askedMs
  }

  #noteOldest(oldest: number): void {
    const { node, onOutdated } = this.#options
    if (node.program >= oldest || this.#isOutdated) return
    this.#isOutdated = true
    onOutdated?.(new OutdatedProgramError(oldest, node.program))
  }

  /** A node that refuses the database leaves it, so that `bridge server restored` runs beside it. */
  async #check(connection: PostgresConnection): Promise<void> {
    try {
      await this.#options.check(connection)
    } catch (error) {
      if (error instanceof DatabaseForgotError) {
        this.#beatMs = Number.NEGATIVE_INFINITY
        await connection.query({ ...leave, values: [this.id] })
      }
      throw error
    }
  }

  async #joinAgain(connection: PostgresConnection): Promise<void> {
    this.#beatMs = Number.NEGATIVE_INFINITY
    this.#lease.lose()
    const obstacle = await tryJoining(connection, { ...this.#options.node, beat: this.#beats })
    if (obstacle !== undefined) throw new TakenOverError(obstacle.reason)
    // The node may have begun an epoch, which its witness must know before it writes.
    await this.#check(connection)
  }
}

const beat = {
  name: 'beat',
  text: `UPDATE nodes SET seen_at = clock_timestamp(), beat = beat + 1, load_percent = $2, waits = $3,
    lag_ms = $4 FROM (SELECT seen_at FROM nodes WHERE id = $1) AS before WHERE id = $1
    RETURNING (SELECT number FROM oldest_program) AS oldest,
      extract(epoch FROM nodes.seen_at - before.seen_at) * 1000 AS elapsed_ms,
      nodes.beat, ${timelineText} AS timeline`,
}

const leave = { name: 'leave', text: 'DELETE FROM nodes WHERE id = $1' }
