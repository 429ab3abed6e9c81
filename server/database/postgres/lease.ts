/**
 * The lease of the leader. It lasts 15 seconds, and its holder renews it every five. A lease of a node that
 * is gone is free at once.
 */
import type { PostgresConnection } from './connection.ts'

export interface LeaseOptions {
  /** Id of this node. */
  readonly holder: string
  readonly monotonicMs: () => number
  /** Called each time this node gets the lease. */
  readonly onTaken: () => void
}

const lastsMs = 15_000
const renewEveryMs = 5000

/** How often another node looks whether the lease is free. */
export const lookEveryMs = 1000

export class Lease {
  readonly #options: LeaseOptions
  /** When this node asked for the lease that it holds. */
  #heldMs = Number.NEGATIVE_INFINITY
  #triedMs = Number.NEGATIVE_INFINITY
  #isGivenUp = false

  constructor(options: LeaseOptions) {
    this.#options = options
  }

  isHeld(): boolean {
    return this.#options.monotonicMs() - this.#heldMs < lastsMs
  }

  /** Takes or renews the lease, if it is time. */
  async keep(connection: PostgresConnection): Promise<void> {
    const { holder, monotonicMs, onTaken } = this.#options
    const askedMs = monotonicMs()
    const wasHeld = this.isHeld()
    const dueMs = wasHeld ? renewEveryMs - lookEveryMs : lookEveryMs / 2
    if (this.#isGivenUp || askedMs - this.#triedMs < dueMs) return
    this.#triedMs = askedMs
    const { count } = await connection.query({ ...take, values: [holder] })
    this.#heldMs = count === 1 && !this.#isGivenUp ? askedMs : Number.NEGATIVE_INFINITY
    if (this.isHeld() && !wasHeld) onTaken()
  }

  /** The others have removed this node, and its lease with it. */
  lose(): void {
    this.#heldMs = Number.NEGATIVE_INFINITY
    this.#triedMs = Number.NEGATIVE_INFINITY
  }

  /** Ends the lead of this node for good. */
  giveUp(): void {
    this.#isGivenUp = true
    this.#heldMs = Number.NEGATIVE_INFINITY
  }

  /** Frees the lease for the other nodes. */
  async free(connection: PostgresConnection): Promise<void> {
    await connection.query({ ...release, values: [this.#options.holder] })
  }
}

/** Writes nothing while another node holds the lease. */
const take = {
  name: 'take_lease',
  text: `INSERT INTO leases (name, holder, until)
    SELECT 'leader', $1, clock_timestamp() + interval '${lastsMs} ms' WHERE NOT EXISTS (
      SELECT 1 FROM leases JOIN nodes ON nodes.id = leases.holder
      WHERE leases.name = 'leader' AND holder <> $1 AND until >= clock_timestamp())
    ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
      WHERE leases.holder = excluded.holder OR leases.until < clock_timestamp()
        OR NOT EXISTS (SELECT 1 FROM nodes WHERE id = leases.holder)`,
}

const release = {
  name: 'free_lease',
  text: "DELETE FROM leases WHERE name = 'leader' AND holder = $1",
}
