/**
 * The table of the nodes that serve a database. A node that must be alone joins only if no other is alive, and
 * keeps all others out.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { NodeEntry } from '../nodes.ts'
import { deadAfterMs, machine, mayBeAlive, type NodeProcess, ownNodes } from './alive.ts'
import { PostgresConnection } from './connection.ts'
import type { Link } from './link.ts'

/** Another node serves this database. */
export class DatabaseServedError extends Error {
  override readonly name = 'DatabaseServedError'
}

/** A node as it joins. */
export interface Joining {
  readonly id: string
  readonly name: string
  readonly version: string
  /** Number of the last migration that its program has. */
  readonly program: number
  /** Whether no other node may serve beside it. */
  readonly isAlone: boolean
}

interface NodeRow extends NodeProcess {
  readonly alone: number
}

/** Time between two beats of a node. */
export const beatEveryMs = 2000

const lookEveryMs = 500
const patienceMs = lookEveryMs * 6

/** Makes this node one that serves. Waits for a node that may have ended. @throws DatabaseServedError */
export async function joinDatabase(connection: PostgresConnection, node: Joining): Promise<void> {
  for (let waitedMs = 0; ; waitedMs += lookEveryMs) {
    const other = await tryJoining(connection, node)
    if (other === undefined) {
      ownNodes.add(node.id)
      return
    }
    if (other.silent_ms < patienceMs && waitedMs >= patienceMs) throw servedBy(other)
    await sleep(lookEveryMs)
  }
}

export const servedBy = ({ pid, machine }: NodeProcess): DatabaseServedError =>
  new DatabaseServedError(
    `another server (process ${pid} on ${machine.split(' ')[0]}) serves this database; stop it first`,
  )

/** Returns a node that keeps this one out, if one may be alive. */
export async function tryJoining(
  connection: PostgresConnection,
  node: Joining,
): Promise<NodeProcess | undefined> {
  await connection.query({ text: "BEGIN; SET LOCAL lock_timeout = '5s'" })
  try {
    await connection.query({ text: 'LOCK TABLE nodes IN EXCLUSIVE MODE' })
    const { rows } = await connection.query<NodeRow>({
      text: `SELECT id, machine, pid,
        CASE WHEN current_setting('bridge.several_nodes', true) = 'on' THEN alone ELSE 1 END AS alone,
        extract(epoch FROM clock_timestamp() - seen_at) * 1000 AS silent_ms FROM nodes`,
    })
    // Only tests set `bridge.several_nodes`. Otherwise each node is alone.
    const others = rows.filter(({ id }) => id !== node.id)
    const dead = others.filter((row) => !mayBeAlive(row))
    const other = others.find((row) => !dead.includes(row) && (node.isAlone || row.alone === 1))
    if (other === undefined) {
      await connection.query({
        text: 'DELETE FROM nodes WHERE id = ANY ($1)',
        values: [dead.map(({ id }) => id)],
      })
      await connection.query({ text: insert, values: valuesOf(node) })
    }
    await connection.query({ text: 'COMMIT' })
    return other
  } catch (error) {
    if (!connection.isBroken) await connection.query({ text: 'ROLLBACK' }).catch(() => {})
    throw error
  }
}

const insert = `INSERT INTO nodes (id, machine, pid, name, version, program, alone, started_at, seen_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, clock_timestamp(), clock_timestamp())
  ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at`

const valuesOf = ({ id, name, version, program, isAlone }: Joining) => [
  ...[id, machine(), process.pid, name, version, program],
  isAlone ? 1 : 0,
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

/** Lists the nodes that are alive, by name. */
export async function listNodes(connection: PostgresConnection): Promise<NodeEntry[]> {
  const { rows } = await connection.query<EntryRow>({ text: list })
  return rows.map(({ id, name, version, started_ms, seen_ms, leads, load_percent, waits, lag_ms }) => ({
    ...{ id, name, version, lagMs: lag_ms, leads: leads === 1 },
    startedAt: new Date(started_ms).toISOString(),
    seenAt: new Date(seen_ms).toISOString(),
    load: { percent: load_percent, waits },
  }))
}

/** Lists the nodes of a database, on a connection of its own. */
export async function readNodes(url: string): Promise<NodeEntry[]> {
  const connection = await PostgresConnection.open({ url })
  try {
    return await listNodes(connection)
  } finally {
    await connection.close()
  }
}

interface EntryRow {
  readonly id: string
  readonly name: string
  readonly version: string
  readonly started_ms: number
  readonly seen_ms: number
  readonly leads: number
  readonly load_percent: number
  readonly waits: number
  readonly lag_ms: number
}

const list = `SELECT id, name, version, load_percent, waits, lag_ms,
    extract(epoch FROM started_at) * 1000 AS started_ms, extract(epoch FROM seen_at) * 1000 AS seen_ms,
    (SELECT count(*) FROM leases WHERE leases.name = 'leader' AND holder = nodes.id AND until > clock_timestamp())
      AS leads
  FROM nodes WHERE seen_at > clock_timestamp() - interval '${deadAfterMs} ms' ORDER BY name, started_at`
