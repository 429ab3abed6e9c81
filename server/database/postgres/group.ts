/**
 * Runs one group of requests in one transaction on PostgreSQL. Either all of it is committed, or nothing.
 *
 * - The group locks the rows of its lanes. So a project has one writer at a time, and ids that are taken
 *   under the lock are in the order of commits. If another process holds some of the lanes, the group runs
 *   without their requests. If it holds none, it waits for those of the first request.
 * - Units that touch nothing in common run side by side (`wave.ts`), others one after another. They have no
 *   savepoints, and post their inserts (`unit-view.ts`). If a unit fails after it has written, or if a
 *   statement fails, the group is rolled back and runs again, now with each unit alone in a savepoint. So a
 *   unit may run more than once.
 * - If the answer to COMMIT is lost, another connection asks what became of the transaction.
 *
 * Contract §2 "Group commit".
 */
import type { Ids } from '../ids.ts'
import { everyLane, type Lane, nodeLane, packagesLane } from '../lanes.ts'
import type { Outcome, Request } from '../request.ts'
import type { WrittenSteadyClock } from '../steady-clock.ts'
import {
  isStatementError,
  isTrouble,
  type PostgresConnection,
  postgresCode,
  type Statement,
} from './connection.ts'
import { fateOf, type Link, type Linked } from './link.ts'
import type { Opening } from './opening.ts'
import { type Timeline, timelineText } from './timeline.ts'
import { Posted } from './unit-view.ts'
import { NeedsSavepointsError, Units, type UnitsChance } from './units.ts'
import { DatabaseForgotError, type Witness } from './witness.ts'

export interface LanedRequest extends Request {
  readonly lanes: readonly Lane[]
}

/** The group was not committed, or it is unknown whether it was. */
export class GroupFailedError extends Error {
  override readonly name = 'GroupFailedError'
  /** The disk of the database had no space, so nothing was stored. */
  readonly full: boolean
  /** The outcome is unknown, and the database answers again. */
  readonly recovered: boolean

  constructor(cause: unknown, recovered = false) {
    super('a group of writes failed', { cause })
    this.full = postgresCode(cause) === '53100'
    this.recovered = recovered
  }
}

/** The node of a group. */
export interface GroupNode {
  readonly id: string
  leads(): boolean
  /** Called if the database does not know the node. */
  noteRemoved(): void
}

export interface GroupOptions extends UnitsChance {
  readonly link: Link
  readonly opening: Opening
  readonly ids: Ids
  readonly steady: WrittenSteadyClock
  /** Undefined for a command on the host, which writes no readings. */
  readonly membership: GroupNode | undefined
  readonly witness: Witness
  readonly timeline: Timeline
  readonly monotonicMs: () => number
  /** Receives the time of the database and the interval in which it was read. */
  readonly onTime: (databaseMs: number, askedMs: number, answeredMs: number) => void
}

export interface GroupRun {
  /** Outcomes of the requests that ran, in their order. */
  readonly done: readonly { readonly request: LanedRequest; readonly outcome: Outcome }[]
  /** Requests whose lane another process holds. They must run in a later group. */
  readonly deferred: readonly LanedRequest[]
  readonly commitBeganMs: number
}

const attempts = 4
const tryAgainWithinMs = 4000
const askWithinMs = 5000

const begin = `BEGIN; SET LOCAL statement_timeout = '10s'; SET LOCAL lock_timeout = '5s';
  SET LOCAL idle_in_transaction_session_timeout = '2s'`

/** The setting `bridge.lanes` names the held lanes for triggers, which tests use. */
const lockLanes = (waits: boolean): Statement => ({
  name: waits ? 'lanes_waiting' : 'lanes',
  text: `WITH locked AS (SELECT lane, last FROM lanes WHERE lane = ANY ($1) OR '*' = ANY ($1) ORDER BY lane
      FOR UPDATE${waits ? '' : ' SKIP LOCKED'})
    SELECT pg_current_xact_id()::text AS xid, extract(epoch FROM clock_timestamp()) * 1000 AS ms,
      (SELECT count(*) FROM nodes WHERE id = $2) AS mine, ${timelineText} AS timeline,
      CASE WHEN '*' = ANY ($1) THEN (SELECT count(*) FROM lanes) END AS every,
      (SELECT array_agg(lane) FROM locked) AS lanes, (SELECT array_agg(last) FROM locked) AS lasts,
      set_config('bridge.lanes', (SELECT coalesce(string_agg(lane, ' '), '') FROM locked), true)`,
})

const lockFree: Statement = {
  name: 'lanes_free',
  text: 'SELECT lane, last FROM lanes WHERE lane = ANY ($1) ORDER BY lane FOR UPDATE SKIP LOCKED',
}

const nameLanes = "SELECT set_config('bridge.lanes', $1, true)"

interface Found {
  readonly xid: string
  readonly ms: number
  readonly mine: number
  readonly timeline: string
  readonly every: number | null
  readonly lanes: readonly string[] | null
  readonly lasts: readonly string[] | null
}

interface Begun {
  readonly xid: string
  /** The greatest id before the units ran. */
  readonly last: string
  /** Number of units that had changed rows before. */
  readonly changes: number
  readonly lanes: ReadonlySet<string>
  readonly holdsEvery: boolean
}

export class Groups {
  readonly #options: GroupOptions
  /** Lanes that the database has. */
  readonly #known = new Set<string>()
  /** Requests whose lane was not free once. */
  readonly #waited = new WeakSet<LanedRequest>()
  readonly #units: Units
  #commitBeganMs = 0

  constructor(options: GroupOptions) {
    this.#options = options
    this.#units = new Units(options)
  }

  /** @throws GroupFailedError if nothing was stored or the outcome is unknown */
  async run(requests: readonly LanedRequest[]): Promise<GroupRun> {
    const { monotonicMs } = this.#options
    const beganMs = monotonicMs()
    let careful = false
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#attempt(requests, careful)
      } catch (error) {
        if (error instanceof GroupFailedError) throw error
        if (error instanceof DatabaseForgotError) throw new GroupFailedError(error)
        const cause = error instanceof NeedsSavepointsError ? error.cause : error
        const isLast = attempt === attempts && !(error instanceof NeedsSavepointsError)
        // If the database stands still, or a lock is not free, the requests have waited long enough.
        const isDatabases = isTrouble(cause) && (cause === error || isStatementError(cause))
        const isLate = isDatabases && monotonicMs() - beganMs >= tryAgainWithinMs
        if (isLast || isLate || postgresCode(cause) === '53100') throw new GroupFailedError(cause)
        careful = true
      }
    }
  }

  async #attempt(requests: readonly LanedRequest[], careful: boolean): Promise<GroupRun> {
    const linked = await this.#linked()
    const { connection } = linked
    await this.#addLanes(connection, requests)
    const first = requests[0]?.lanes ?? []
    try {
      // The first request waits for its lane once at most, so that other processes cannot keep it from a busy
      // lane.
      const hasWaited = requests[0] !== undefined && this.#waited.has(requests[0])
      let begun = await this.#begin(connection, hasWaited ? first : lanesOf(requests), hasWaited)
      if (hasWaited) begun = await this.#lockMore(connection, begun, lanesOf(requests))
      let held = this.#heldBy(begun, requests)
      if (held.length === 0) {
        // A group that holds a lane must not wait for another one, so nothing can wait in a circle.
        await connection.query({ text: 'ROLLBACK' })
        begun = await this.#begin(connection, first, true)
        held = this.#heldBy(begun, requests)
        // A failover may have lost the row of a lane. The next group adds it again.
        if (held.length === 0) for (const lane of first) if (!begun.lanes.has(lane)) this.#known.delete(lane)
      }
      const posted = careful ? undefined : new Posted()
      const outcomes = await this.#units.run(connection, held, posted)
      await this.#commit(linked, begun, posted)
      await this.#units.learn(connection).catch(() => {})
      const isHeld = new Set(held)
      const deferred = requests.filter((each) => !isHeld.has(each))
      for (const each of deferred) this.#waited.add(each)
      return {
        done: held.map((request, index) => ({ request, outcome: outcomes[index] as Outcome })),
        deferred,
        commitBeganMs: this.#commitBeganMs,
      }
    } catch (error) {
      if (!connection.isBroken) await connection.query({ text: 'ROLLBACK' }).catch(() => {})
      if (error instanceof DatabaseForgotError && !connection.isBroken)
        await this.#options.witness.record(connection, error).catch(() => {})
      throw error
    }
  }

  async #linked(): Promise<Linked> {
    const { link, opening } = this.#options
    const { current } = link
    if (current !== undefined) {
      opening.reached()
      return current
    }
    try {
      return await opening.get(() => link.get())
    } catch (error) {
      throw new GroupFailedError(error)
    }
  }

  /** Adds the rows of lanes that this process has not used yet. A project that does not exist has no lane. */
  async #addLanes(connection: PostgresConnection, requests: readonly LanedRequest[]): Promise<void> {
    const missing = lanesOf(requests).filter((lane) => lane !== everyLane && !this.#known.has(lane))
    if (missing.length === 0) return
    await connection.query({
      text: `INSERT INTO lanes (lane, last) SELECT lane, '' FROM unnest($1::text[]) AS lane
        WHERE lane = ANY ($2) OR EXISTS (SELECT 1 FROM projects WHERE id = lane) ON CONFLICT DO NOTHING`,
      values: [missing, [nodeLane, packagesLane]],
    })
    const { rows } = await connection.query<{ lane: string }>({
      text: 'SELECT lane FROM lanes WHERE lane = ANY ($1)',
      values: [missing],
    })
    for (const { lane } of rows) this.#known.add(lane)
  }

  /** Returns the requests whose lanes the group holds. */
  #heldBy({ lanes, holdsEvery }: Begun, requests: readonly LanedRequest[]): LanedRequest[] {
    const isHeld = (lane: Lane) =>
      lane === everyLane ? holdsEvery : lanes.has(lane) || !this.#known.has(lane)
    return requests.filter((each) => each.lanes.every(isHeld))
  }

  async #begin(connection: PostgresConnection, lanes: readonly Lane[], waits: boolean): Promise<Begun> {
    const { membership, ids, witness, timeline, monotonicMs, onTime } = this.#options
    const askedMs = monotonicMs()
    const [, { rows }] = await Promise.all([
      connection.query({ text: begin }),
      connection.query<Found>({
        ...lockLanes(waits),
        values: [lanes, membership?.id ?? ''],
      }),
    ])
    const [found] = rows
    if (found === undefined) throw new Error('the database gave no transaction')
    if (timeline.isOther(found.timeline)) {
      // A pooler kept the connection over a failover. A new one is checked before it is used.
      await connection.close()
      throw new Error('the database is on another timeline than before')
    }
    const held = new Map(found.lanes?.map((lane, index) => [lane, found.lasts?.[index] ?? '']))
    witness.check(held)
    if (membership !== undefined && found.mine !== 1) {
      membership.noteRemoved()
      throw new GroupFailedError(new Error('the other nodes count this one as ended'))
    }
    onTime(found.ms, askedMs, monotonicMs())
    for (const last of held.values()) if (last !== '') ids.raise(last)
    const lanesHeld = { lanes: new Set(held.keys()), holdsEvery: held.size === found.every }
    return { xid: found.xid, last: ids.last(), changes: this.#units.changes, ...lanesHeld }
  }

  /** Adds the lanes that are free to those that the group holds. */
  async #lockMore(connection: PostgresConnection, begun: Begun, wanted: readonly Lane[]): Promise<Begun> {
    const { ids, witness } = this.#options
    const missing = wanted.filter((lane) => lane !== everyLane && !begun.lanes.has(lane))
    if (missing.length === 0) return begun
    const { rows } = await connection.query<{ lane: string; last: string }>({
      ...lockFree,
      values: [missing],
    })
    witness.check(new Map(rows.map(({ lane, last }) => [lane, last])))
    for (const { last } of rows) if (last !== '') ids.raise(last)
    const lanes = new Set([...begun.lanes, ...rows.map(({ lane }) => lane)])
    await connection.query({ text: nameLanes, values: [[...lanes].join(' ')] })
    return { ...begun, lanes, last: ids.last() }
  }

  /** Sends the last statements and COMMIT together. */
  async #commit({ connection, server }: Linked, begun: Begun, inserts?: Posted): Promise<void> {
    const { steady, ids, witness, monotonicMs, membership, link, opening, clock } = this.#options
    const { xid, lanes } = begun
    if (this.#units.changes > begun.changes && ids.last() === begun.last) ids.advance(clock())
    const last = ids.last()
    const reading = membership?.leads() ? steady.due(() => this.#units.changes) : undefined
    const posted: Promise<unknown>[] = [...(inserts?.answers ?? [])]
    if (reading !== undefined) {
      const values = [reading.wall_ms, reading.steady_ms]
      posted.push(connection.query({ ...writeReading, values }))
    }
    if (lanes.size > 0) posted.push(connection.query({ ...advanceLanes, values: [[...lanes], last] }))
    this.#commitBeganMs = monotonicMs()
    const committing = connection.query({ text: 'COMMIT' })
    const results = await Promise.allSettled([...posted, committing])
    const answer = await committing.catch((error: unknown) => error as Error)
    if (answer instanceof Error) {
      if (isStatementError(answer)) throw answer
      const linked = async () => link.current ?? opening.once(() => link.get())
      const fate = await fateOf(linked, { xid, server, withinMs: askWithinMs, monotonicMs })
      if (fate === 'aborted') throw answer
      if (fate === 'unknown') throw new GroupFailedError(answer, link.current !== undefined)
    } else if (answer.command !== 'COMMIT') {
      const failed = results.find((each) => each.status === 'rejected')
      throw failed?.reason ?? new Error('the transaction was rolled back')
    }
    witness.note(lanes, last)
    if (reading !== undefined) steady.noteWritten(reading, this.#units.changes)
  }
}

export const writeReading: Statement = {
  name: 'reading',
  text: `INSERT INTO steady_clock (one, wall_ms, steady_ms) VALUES (1, $1, $2)
    ON CONFLICT (one) DO UPDATE SET wall_ms = excluded.wall_ms, steady_ms = excluded.steady_ms`,
}

const advanceLanes: Statement = {
  name: 'advance',
  text: 'UPDATE lanes SET last = $2 WHERE lane = ANY ($1) AND last < $2',
}

const lanesOf = (requests: readonly LanedRequest[]): Lane[] => [
  ...new Set(requests.flatMap(({ lanes }) => lanes)),
]
