/**
 * The node that serves a database. A second one is refused.
 *
 * A node writes the time of its last beat every two seconds, by the clock of the database. A new node takes
 * over if the last beat is older than ten seconds, or if the process of the other node is on this machine and
 * has ended. Each group of writes checks that its node is still the one, so a node that was taken over writes
 * nothing more.
 */
import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import type { PostgresConnection } from './connection.ts'
import type { Link } from './link.ts'

/** Another node serves this database. */
export class DatabaseServedError extends Error {
  override readonly name = 'DatabaseServedError'
}

interface NodeRow {
  readonly id: string
  readonly machine: string
  readonly pid: number
  readonly silent_ms: number
}

const beatEveryMs = 2000
const deadAfterMs = 10_000
const lookEveryMs = 500

/** Ids of the nodes of this process. */
const ownNodes = new Set<string>()

/** Makes this node the one that serves. Waits for a node that may have ended. @throws DatabaseServedError */
export async function takeDatabase(connection: PostgresConnection, id: string): Promise<void> {
  for (let waitedMs = 0; ; waitedMs += lookEveryMs) {
    const other = await tryTaking(connection, id)
    if (other === undefined) {
      ownNodes.add(id)
      return
    }
    if (other.silent_ms < lookEveryMs * 6 && waitedMs >= lookEveryMs * 6) {
      throw new DatabaseServedError(
        `another server (process ${other.pid} on ${other.machine.split(' ')[0]}) serves this database; stop it first`,
      )
    }
    await sleep(lookEveryMs)
  }
}

/** Returns the node that serves, if it may be alive. */
async function tryTaking(connection: PostgresConnection, id: string): Promise<NodeRow | undefined> {
  await connection.query({ text: 'BEGIN' })
  try {
    await connection.query({ text: 'LOCK TABLE nodes IN EXCLUSIVE MODE' })
    const { rows } = await connection.query<NodeRow>({
      text: `SELECT id, machine, pid,
        extract(epoch FROM clock_timestamp() - cast(seen_at AS timestamptz)) * 1000 AS silent_ms FROM nodes`,
    })
    const { rows: settings } = await connection.query<{ several: string | null }>({
      text: "SELECT current_setting('bridge.several_nodes', true) AS several",
    })
    // Only tests set it.
    const several = settings[0]?.several === 'on'
    const alive = several ? undefined : rows.find(mayBeAlive)
    if (alive === undefined) {
      if (!several) await connection.query({ text: 'DELETE FROM nodes' })
      await connection.query({
        text: 'INSERT INTO nodes (id, machine, pid, started_at, seen_at) VALUES ($1, $2, $3, now(), clock_timestamp())',
        values: [id, machine(), process.pid],
      })
    }
    await connection.query({ text: 'COMMIT' })
    return alive
  } catch (error) {
    if (!connection.isBroken) await connection.query({ text: 'ROLLBACK' }).catch(() => {})
    throw error
  }
}

function mayBeAlive(row: NodeRow): boolean {
  if (row.silent_ms > deadAfterMs) return false
  if (row.machine !== machine()) return true
  return row.pid === process.pid ? ownNodes.has(row.id) : isProcess(row.pid)
}

function isProcess(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return !isZombie(pid)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Returns whether the process has ended and only its parent has not noticed. Known on Linux only. */
function isZombie(pid: number): boolean {
  try {
    return /\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

/** Name of this machine, and of its present start. */
function machine(): string {
  try {
    return `${hostname()} ${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}`
  } catch {
    // Not Linux: a restart of the machine then looks like a node that may be alive for ten seconds.
    return hostname()
  }
}

export interface Beats {
  /** Ends the beats and frees the database for another node. */
  stop(): Promise<void>
}

/** Beats on a connection of its own, because that of the writer is inside transactions. */
export function startBeats(
  link: Link,
  id: string,
  check: (connection: PostgresConnection) => Promise<void>,
  onError: (error: unknown) => void = () => {},
): Beats {
  const text = 'UPDATE nodes SET seen_at = clock_timestamp() WHERE id = $1'
  let running: Promise<unknown> | undefined
  const beat = async () => {
    try {
      const { connection } = await link.get()
      await connection.query({ text, values: [id] })
      await check(connection)
    } catch (error) {
      onError(error)
    } finally {
      running = undefined
    }
  }
  const timer = setInterval(() => {
    running ??= beat()
  }, beatEveryMs)
  timer.unref()
  return {
    async stop() {
      clearInterval(timer)
      await running
      ownNodes.delete(id)
      try {
        const { connection } = await link.get()
        await connection.query({ text: 'DELETE FROM nodes WHERE id = $1', values: [id] })
      } catch {
        // If the database does not answer, the next node notices that the beats have ended.
      }
      await link.close()
    },
  }
}
