/**
 * The writer's connection. It is opened when a group needs it, and again after it broke.
 *
 * A connection knows its server: the cluster, its timeline and its start. Only the same server on the same
 * timeline since the same start can tell whether a transaction was committed. A server that crashed may give
 * the numbers of lost transactions to others.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type ConnectionSettings, isStatementError, PostgresConnection } from './connection.ts'

export interface Linked {
  readonly connection: PostgresConnection
  /** Names the cluster, its timeline and its start. */
  readonly server: string
}

/** Resolves with what `open` opens. @throws its error, or that of another try a moment ago */
export type Connects = (open: () => Promise<PostgresConnection>) => Promise<PostgresConnection>

export class Link {
  readonly #settings: ConnectionSettings
  readonly #connects: Connects
  /** Runs on each new connection before anything else. */
  check: (connection: PostgresConnection) => Promise<void> = async () => {}
  #linked: Linked | undefined
  #connecting: Promise<Linked> | undefined

  /** `connects` decides when a connection is opened, by default at once. */
  constructor(settings: ConnectionSettings, connects: Connects = (open) => open()) {
    this.#settings = settings
    this.#connects = connects
  }

  /** The last connection that was opened, if it can still be used. */
  get current(): Linked | undefined {
    return this.#linked?.connection.isBroken === false ? this.#linked : undefined
  }

  /** Callers that need a new connection at the same time get the same one. @throws the error of connecting */
  async get(): Promise<Linked> {
    const { current } = this
    if (current !== undefined) return current
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined
    })
    return this.#connecting
  }

  async #connect(): Promise<Linked> {
    const connection = await this.#connects(() => PostgresConnection.open(this.#settings))
    try {
      const server = await serverOf(connection)
      await this.check(connection)
      this.#linked = { connection, server }
      return this.#linked
    } catch (error) {
      await connection.close()
      throw error
    }
  }

  async close(): Promise<void> {
    await this.#connecting?.catch(() => undefined)
    await this.#linked?.connection.close()
  }
}

/**
 * If a process of the server crashes, all of them start again, and `pg_postmaster_start_time` stays. The
 * server then resets its statistics, so their time tells that start.
 */
async function serverOf(connection: PostgresConnection): Promise<string> {
  const { rows } = await connection.query<{ server: string }>({
    text: `SELECT concat_ws(' ', (SELECT system_identifier FROM pg_control_system()),
      CASE WHEN pg_is_in_recovery() THEN 'standby' ELSE left(pg_walfile_name(pg_current_wal_lsn()), 8) END,
      pg_postmaster_start_time(), (SELECT stats_reset FROM pg_stat_wal)) AS server`,
  })
  return rows[0]?.server ?? ''
}

export type Fate = 'committed' | 'aborted' | 'unknown'

const askEveryMs = 100

interface Lost {
  readonly xid: string
  /** Server of the transaction. */
  readonly server: string
  /** The last question begins within this time. */
  readonly withinMs: number
  readonly monotonicMs: () => number
}

/**
 * Waits until the standby has everything that was committed before. A COMMIT whose backend was ended waits no
 * longer, and its transaction counts as committed although a failover may lose it.
 */
const reachStandby = { text: "SELECT pg_logical_emit_message(true, 'agent-bridge', '')" }

/** Asks what became of a transaction whose COMMIT was not answered, on the connection that `reach` returns. */
export async function fateOf(
  reach: () => Promise<Linked>,
  { xid, server, withinMs, monotonicMs }: Lost,
): Promise<Fate> {
  const endsMs = monotonicMs() + withinMs
  while (monotonicMs() < endsMs) {
    try {
      const linked = await reach()
      if (linked.server !== server) return 'unknown'
      const { rows } = await linked.connection.query<{ status: string | null }>({
        text: 'SELECT pg_xact_status($1::xid8) AS status',
        values: [xid],
      })
      const status = rows[0]?.status
      if (status === 'committed') await linked.connection.query(reachStandby)
      if (status === 'committed' || status === 'aborted') return status
      if (status !== 'in progress') return 'unknown'
    } catch (error) {
      // The database does not answer, or refuses the question. The latter does not change with time.
      if (isStatementError(error)) return 'unknown'
    }
    await sleep(askEveryMs)
  }
  return 'unknown'
}
