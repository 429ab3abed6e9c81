/**
 * The table of the nodes that serve a database. A node joins if it can serve beside each one that is alive;
 * see `beside.ts`.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { NodeEntry } from '../nodes.ts'
import { deadAfterMs, machine, mayBeAlive, ownNodes } from './alive.ts'
import { type Arrival, conflictOf, type Neighbour } from './beside.ts'
import { PostgresConnection } from './connection.ts'
import type { SeenNode } from './ended-nodes.ts'
import { beginEpoch } from './epochs.ts'
import type { Link } from './link.ts'

/** Another node serves this database, and this one cannot serve beside it. */
export class DatabaseServedError extends Error {
  override readonly name = 'DatabaseServedError'
}

/** A node as it joins. */
export interface Joining extends Arrival {
  readonly id: string
  readonly version: string
  /** Number of the last migration that its program has. */
  readonly program: number
  /** Whether it is the command that finishes a restore. It serves nobody, and begins no epoch. */
  readonly finishesRestore?: boolean
  /** Number of its last confirmed beat, if it joins again. */
  readonly beat?: number
}

/** Another node that keeps this one out. */
export interface Obstacle {
  readonly reason: string
  /** Time since its last beat. */
  readonly silentMs: number
}

/** Time between two beats of a node. */
export const beatEveryMs = 2000

const lookEveryMs = 500
const patienceMs = lookEveryMs * 6

/** The database requires a newer program at each of its nodes. */
export class OutdatedProgramError extends Error {
  override readonly name = 'OutdatedProgramError'

  constructor(oldest: number, program: number) {
    super(
      `this program knows ${program} migrations, and the database requires nodes that know ${oldest}; install the version of the other nodes`,
    )
  }
}

/**
 * Makes this node one that serves. Waits for a node that may have ended. @throws DatabaseServedError,
 * OutdatedProgramError
 */
export async function joinDatabase(connection: PostgresConnection, node: Joining): Promise<void> {
  const { rows } = await connection.query<{ number: number }>({ text: 'SELECT number FROM oldest_program' })
  const oldest = rows[0]?.number ?? 0
  if (node.program < oldest) throw new OutdatedProgramError(oldest, node.program)
  for (let waitedMs = 0; ; waitedMs += lookEveryMs) {
    const obstacle = await tryJoining(connection, node)
    if (obstacle === undefined) {
      ownNodes.add(node.id)
      return
    }
    const { reason, silentMs } = obstacle
    if (silentMs < patienceMs && waitedMs >= patienceMs) throw new DatabaseServedError(reason)
    await sleep(lookEveryMs)
  }
}

/** While a node holds the lock, no other one can beat. So it loses the lock if it stands still for 2 s. */
const begin = `BEGIN; SET LOCAL lock_timeout = '5s'; SET LOCAL statement_timeout = '10s';
  SET LOCAL idle_in_transaction_session_timeout = '2s'`

/** Returns what keeps this node out, if it comes from a node that may be alive. */
export async function tryJoining(
  connection: PostgresConnection,
  node: Joining,
): Promise<Obstacle | undefined> {
  await connection.query({ text: begin })
  try {
    await connection.query({ text: 'LOCK TABLE nodes IN EXCLUSIVE MODE' })
    const { rows } = await connection.query<Neighbour>({ text: neighbours })
    const others = rows.filter(({ id }) => id !== node.id)
    const dead = others.filter((row) => !mayBeAlive(row))
    const obstacle = obstacleFor(
      node,
      others.filter((row) => !dead.includes(row)),
    )
    if (obstacle === undefined) {
      await connection.query({
        text: 'DELETE FROM nodes WHERE id = ANY ($1)',
        values: [dead.map(({ id }) => id)],
      })
      await connection.query({ text: insert, values: valuesOf(node) })
      const isFirst = dead.length === others.length && node.finishesRestore !== true
      if (isFirst) await beginEpoch(connection)
    }
    await connection.query({ text: 'COMMIT' })
    return obstacle
  } catch (error) {
    if (!connection.isBroken) await connection.query({ text: 'ROLLBACK' }).catch(() => {})
    throw error
  }
}

/** Returns the first obstacle, of the node that was seen last. */
function obstacleFor(node: Joining, alive: readonly Neighbour[]): Obstacle | undefined {
  for (const other of alive.toSorted((a, b) => a.silent_ms - b.silent_ms)) {
    const reason = conflictOf(node, other)
    if (reason !== undefined) return { reason, silentMs: other.silent_ms }
  }
  return undefined
}

/** A beat in the future is from before the clock of the database was set back, and as far away. */
const silentMs = 'abs(extract(epoch FROM clock_timestamp() - seen_at)) * 1000'

const neighbours = `SELECT id, machine, pid, name, alone, portal_origin, packages, ${silentMs} AS silent_ms
  FROM nodes`

const insert = `INSERT INTO nodes
    (id, machine, pid, name, version, program, alone, portal_origin, packages, beat, started_at, seen_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, clock_timestamp(), clock_timestamp())
  ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at`

const valuesOf = ({ id, name, version, program, settings, beat = 0 }: Joining) => [
  ...[id, machine(), process.pid, name, version, program, settings === undefined ? 1 : 0],
  ...[settings?.portalOrigin ?? null, settings?.packages ?? null, beat],
]

/** Frees the place of this node and closes the connection. */
export async function leaveDatabase(link: Link, id: string): Promise<void> {
  ownNodes.delete(id)
  try {
    const { connection } = await link.get()
    await connection.query({ text: 'DELETE FROM nodes WHERE id = $1', values: [id] })
  } catch {
    // If the database does not answer, the other nodes notice that the beats have ended.
  }
  await link.close()
}

export async function isLedByOther(connection: PostgresConnection, id: string): Promise<boolean> {
  const { rows } = await connection.query({
    text: `SELECT 1 FROM leases JOIN nodes ON nodes.id = leases.holder
      WHERE leases.name = 'leader' AND holder <> $1 AND until > clock_timestamp()`,
    values: [id],
  })
  return rows.length > 0
}

/** Lists all nodes of the table by name, also those whose beats have stopped. */
export async function lookAtNodes(connection: PostgresConnection): Promise<SeenNode[]> {
  return seenIn((await connection.query<SeenRow>({ text: all })).rows)
}

/**
 * Removes the nodes whose last beat is much older than that of the caller. Returns the table as it was before.
 * The clock of the database may be set after the beat of the caller.
 */
export async function removeDead(connection: PostgresConnection, caller: string): Promise<SeenNode[]> {
  const query = { name: 'remove_dead', text: withoutDead, values: [caller] }
  return seenIn((await connection.query<SeenRow>(query)).rows)
}

export const isAlive = ({ silentMs }: SeenNode): boolean => silentMs <= deadAfterMs

const seenIn = (rows: readonly SeenRow[]): SeenNode[] =>
  rows.map(({ id, name, version, started_ms, seen_ms, silent_ms, leads, load_percent, waits, lag_ms }) => ({
    ...{ id, name, version, lagMs: lag_ms, leads: leads === 1, silentMs: silent_ms },
    startedAt: new Date(started_ms).toISOString(),
    seenAt: new Date(seen_ms).toISOString(),
    load: { percent: load_percent, waits },
  }))

/** Lists the nodes of a database that are alive, by name, on a connection of its own. */
export async function readNodes(url: string): Promise<NodeEntry[]> {
  const connection = await PostgresConnection.open({ url })
  try {
    return (await lookAtNodes(connection)).filter(isAlive)
  } finally {
    await connection.close()
  }
}

interface SeenRow {
  readonly id: string
  readonly name: string
  readonly version: string
  readonly started_ms: number
  readonly seen_ms: number
  readonly silent_ms: number
  readonly leads: number
  readonly load_percent: number
  readonly waits: number
  readonly lag_ms: number
}

const all = `SELECT id, name, version, load_percent, waits, lag_ms,
    extract(epoch FROM started_at) * 1000 AS started_ms, extract(epoch FROM seen_at) * 1000 AS seen_ms,
    ${silentMs} AS silent_ms,
    (SELECT count(*) FROM leases WHERE leases.name = 'leader' AND holder = nodes.id AND until > clock_timestamp())
      AS leads
  FROM nodes ORDER BY name, started_at`

const withoutDead = `WITH dead AS (DELETE FROM nodes WHERE id IN (SELECT id FROM nodes
    WHERE abs(extract(epoch FROM (SELECT seen_at FROM nodes WHERE id = $1) - seen_at)) * 1000 > ${deadAfterMs}
    FOR UPDATE SKIP LOCKED))
  ${all}`
