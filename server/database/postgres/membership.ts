/**
 * Keeps this node among those that serve its database, by the clock of the database.
 *
 * - A beat every two seconds says that the node is alive. If its last beat is older than ten seconds, the
 *   others count it as ended and remove it. It then answers nothing until it has joined again.
 * - One node leads: it holds a lease of 15 seconds and renews it every five. A lease of a node that is gone is
 *   free at once.
 * - A node believes in its own beat and lease from the moment it asked for them. So it stops believing before
 *   the others do.
 */
import { ApiError } from '../../api-error.ts'
import { retryAfterMs } from '../../retry-after.ts'
import type { NodeEntry, NodeLoad, Nodes } from '../nodes.ts'
import { deadAfterMs } from './alive.ts'
import type { PostgresConnection } from './connection.ts'
import type { Link } from './link.ts'
import { beatEveryMs, type Joining, leaveDatabase, listNodes, tryJoining } from './nodes.ts'

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
  /** Called if a beat fails. */
  readonly onError?: ((error: unknown) => void) | undefined
  /** Called once if a node beside which this one cannot serve has taken its place. */
  readonly onTakenOver: (error: TakenOverError) => void
}

const againAfterMs = 250
const leaseMs = 15_000
const renewEveryMs = 5000

export class Membership implements Nodes {
  readonly id: string
  readonly #options: MembershipOptions
  readonly #acts: (() => void)[] = []
  /** Moments of asking for what was granted. */
  #beatMs = Number.NEGATIVE_INFINITY
  #leaseMs = Number.NEGATIVE_INFINITY
  #triedMs = Number.NEGATIVE_INFINITY
  #lagMs = 0
  #isLeaving = false
  #running: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined

  private constructor(options: MembershipOptions) {
    this.#options = options
    this.id = options.node.id
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
    return membership
  }

  isMember(): boolean {
    return this.#options.monotonicMs() - this.#beatMs < deadAfterMs
  }

  leads(): boolean {
    return this.isMember() && this.#options.monotonicMs() - this.#leaseMs < leaseMs
  }

  onLead(act: () => void): void {
    this.#acts.push(act)
  }

  async list(): Promise<NodeEntry[]> {
    try {
      const { connection } = await this.#options.link.get()
      return await listNodes(connection)
    } catch (cause) {
      throw new ApiError('unavailable', { retryAfterMs: retryAfterMs.restart, cause })
    }
  }

  /** The database does not know this node. It answers nothing until it has joined again. */
  noteRemoved(): void {
    this.#beatMs = Number.NEGATIVE_INFINITY
    if (this.#running === undefined) this.#plan(0)
  }

  /** Ends the beats, and frees the lease and the place of this node. */
  async leave(): Promise<void> {
    this.#isLeaving = true
    clearTimeout(this.#timer)
    await this.#running
    this.#beatMs = Number.NEGATIVE_INFINITY
    await leaveDatabase(this.#options.link, this.id)
  }

  #plan(afterMs: number): void {
    clearTimeout(this.#timer)
    const dueMs = this.#options.monotonicMs() + afterMs
    this.#timer = setTimeout(() => {
      this.#running = this.#run(dueMs).finally(() => {
        this.#running = undefined
      })
    }, afterMs).unref()
  }

  async #run(dueMs: number): Promise<void> {
    const { monotonicMs, onError = () => {} } = this.#options
    try {
      await this.#beat(dueMs)
      if (!this.#isLeaving) this.#plan(Math.max(0, dueMs + beatEveryMs - monotonicMs()))
    } catch (error) {
      if (!this.#isLeaving) this.#plan(againAfterMs)
      if (!(error instanceof TakenOverError)) return onError(error)
      this.#isLeaving = true
      clearTimeout(this.#timer)
      this.#options.onTakenOver(error)
    }
  }

  async #beat(dueMs: number): Promise<void> {
    const { link, load, monotonicMs, check } = this.#options
    const { connection } = await link.get()
    const askedMs = monotonicMs()
    const { percent, waits } = load()
    const { count } = await connection.query({
      ...beat,
      values: [this.id, percent, waits, Math.round(this.#lagMs)],
    })
    if (count === 0) await this.#joinAgain(connection)
    this.#lagMs = Math.max(0, monotonicMs() - dueMs)
    // Before the node counts as a member again, because the database may be another one.
    await check(connection)
    this.#beatMs = askedMs
    await connection.query(removeDead)
    await this.#renewLease(connection)
  }

  async #joinAgain(connection: PostgresConnection): Promise<void> {
    this.#beatMs = Number.NEGATIVE_INFINITY
    const obstacle = await tryJoining(connection, this.#options.node)
    if (obstacle !== undefined) throw new TakenOverError(obstacle.reason)
  }

  async #renewLease(connection: PostgresConnection): Promise<void> {
    const { monotonicMs } = this.#options
    const askedMs = monotonicMs()
    if (askedMs - this.#triedMs < renewEveryMs - beatEveryMs / 2) return
    this.#triedMs = askedMs
    const led = this.leads()
    const { count } = await connection.query({ ...renewLease, values: [this.id] })
    this.#leaseMs = count === 1 ? askedMs : Number.NEGATIVE_INFINITY
    if (count === 1 && !led) for (const act of this.#acts) act()
  }
}

const beat = {
  name: 'beat',
  text: `UPDATE nodes SET seen_at = clock_timestamp(), beat = beat + 1, load_percent = $2, waits = $3,
    lag_ms = $4 WHERE id = $1`,
}

const removeDead = {
  name: 'remove_dead',
  text: `DELETE FROM nodes WHERE id IN (SELECT id FROM nodes
    WHERE seen_at < clock_timestamp() - interval '${deadAfterMs} ms' FOR UPDATE SKIP LOCKED)`,
}

const renewLease = {
  name: 'renew_lease',
  text: `INSERT INTO leases (name, holder, until)
    VALUES ('leader', $1, clock_timestamp() + interval '${leaseMs} ms')
    ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
      WHERE leases.holder = excluded.holder OR leases.until < clock_timestamp()
        OR NOT EXISTS (SELECT 1 FROM nodes WHERE id = leases.holder)`,
}
