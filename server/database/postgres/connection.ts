/**
 * One connection to PostgreSQL. Statements that are asked without waiting are pipelined.
 *
 * After an error of the connection itself, or an error that the server calls fatal, the connection is broken
 * and must be replaced.
 */
import pg from 'pg'
import { fromStored, toStored } from './text.ts'

export interface Statement {
  readonly text: string
  readonly values?: readonly unknown[]
  /** Name under which the connection keeps the prepared statement. */
  readonly name?: string
}

export interface Answer<R> {
  readonly rows: R[]
  /** Number of rows that were read or changed. */
  readonly count: number
  /** Word of the statement that ran, such as `COMMIT`. */
  readonly command: string
}

export interface ConnectionSettings {
  /** The database as `postgres://…`. Without a password, the driver looks into `~/.pgpass`. */
  readonly url: string
  /**
   * Set if a pooler forgets named statements between transactions, so that none gets a name. See `pooler.ts`.
   */
  forgetsNames?: boolean
  /**
   * Returns the URL for a new connection, by default `url`. The password may have changed since the start.
   */
  readonly latestUrl?: (() => string) | undefined
  readonly limits?: ConnectionLimits
}

export interface ConnectionLimits {
  readonly connectWithinMs: number
  /**
   * If no answer comes for so long, the connection is broken. So a suspended database or a cut network holds
   * a group only so long. It is longer than the time limit of a statement.
   */
  readonly answerWithinMs: number
}

const usualLimits: ConnectionLimits = { connectWithinMs: 5000, answerWithinMs: 15_000 }

/** For VACUUM and migrations, whose statements take as long as the tables are large. */
export const unlimitedAnswers: ConnectionLimits = {
  ...usualLimits,
  answerWithinMs: Number.POSITIVE_INFINITY,
}

const looks = 5

/** A server that does not close its end by then is not waited for. */
const closesWithinMs = 1000

/** Those of the process, also if something replaces them later: a statement under way is not given up then. */
const { setInterval: startWatch, clearInterval: stopWatch, setTimeout: startTimer } = globalThis

/** SQLite has no truth values, so the rest of the server reads 1 and 0. */
const parsers = new Map<number, (text: string) => unknown>([
  [16, (text) => (text === 't' ? 1 : 0)],
  [20, Number],
  [21, Number],
  [23, Number],
  [25, fromStored],
  [700, Number],
  [701, Number],
  [1043, fromStored],
  [1700, Number],
])

const types = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    parsers.get(oid) ?? pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
}

export class PostgresConnection {
  readonly #client: pg.Client
  readonly #settings: ConnectionSettings
  #failure: unknown
  #waiting = 0
  /** Looks in which nothing was answered although a statement waits. */
  #silentLooks = 0
  readonly #watch: NodeJS.Timeout | undefined
  readonly #answerWithinMs: number

  private constructor(client: pg.Client, settings: ConnectionSettings) {
    const { answerWithinMs } = settings.limits ?? usualLimits
    this.#client = client
    this.#settings = settings
    this.#answerWithinMs = answerWithinMs
    const broken = (error?: unknown) => {
      this.#failure ??= error ?? new Error('the connection to the database ended')
      stopWatch(this.#watch)
    }
    client.on('error', broken)
    client.on('end', () => broken())
    if (Number.isFinite(answerWithinMs))
      this.#watch = startWatch(() => this.#look(), answerWithinMs / looks).unref()
  }

  /** @throws DatabaseUnreachableError */
  static async open(settings: ConnectionSettings): Promise<PostgresConnection> {
    const { url, latestUrl = () => url, limits = usualLimits } = settings
    const client = new pg.Client({
      connectionString: latestUrl(),
      pipeline: true,
      keepAlive: true,
      application_name: 'agent-bridge',
      connectionTimeoutMillis: limits.connectWithinMs,
      types,
    })
    const connection = new PostgresConnection(client, settings)
    const isStandby = readStandby(client)
    try {
      await client.connect()
      if (isStandby()) throw new Error('it is a standby, which cannot be written')
    } catch (error) {
      connection.#break(error)
      throw new DatabaseUnreachableError(client, error)
    }
    return connection
  }

  /** The process of the server, as the other end told it. A pooler tells a number of its own. */
  get processId(): unknown {
    return Reflect.get(this.#client, 'processID')
  }

  get isBroken(): boolean {
    return this.#failure !== undefined
  }

  /** Calls `listener` with the payload of each notification that arrives on this connection. */
  onNotification(listener: (payload: string) => void): void {
    this.#client.on('notification', ({ payload = '' }) => listener(payload))
  }

  /** Calls `listener` once the connection has ended. */
  onEnd(listener: () => void): void {
    this.#client.once('end', listener)
  }

  /** Ends the connection at once, also if the network drops its packets. */
  drop(): void {
    this.#break(new Error('the connection to the database is closed'))
  }

  async query<R>({ text, values, name }: Statement): Promise<Answer<R>> {
    if (this.#failure !== undefined) throw this.#failure
    this.#waiting += 1
    try {
      const stored = values?.map((value) => (typeof value === 'string' ? toStored(value) : value))
      const found = await this.#client.query({
        text,
        ...(stored !== undefined && { values: stored }),
        ...(name !== undefined && this.#settings.forgetsNames !== true && { name }),
      })
      return { rows: found.rows as R[], count: found.rowCount ?? 0, command: found.command }
    } catch (error) {
      if (!isStatementError(error)) this.#break(error)
      throw error
    } finally {
      this.#waiting -= 1
      this.#silentLooks = 0
    }
  }

  #look(): void {
    this.#silentLooks = this.#waiting === 0 ? 0 : this.#silentLooks + 1
    if (this.#silentLooks < looks) return
    this.#break(new Error(`the database has not answered for ${this.#answerWithinMs / 1000} s`))
  }

  #break(error: unknown): void {
    this.#failure ??= error
    stopWatch(this.#watch)
    // Rejects the statements that wait.
    this.#client.connection.stream.destroy()
    void this.#client.end().catch(() => {})
  }

  async close(): Promise<void> {
    this.#failure ??= new Error('the connection to the database is closed')
    stopWatch(this.#watch)
    const { stream } = this.#client.connection
    startTimer(() => stream.destroy(), closesWithinMs).unref()
    await this.#client.end().catch(() => {})
  }
}

/** The node cannot connect. The message has no password, and names the remedy of a fault of TLS. */
export class DatabaseUnreachableError extends Error {
  override readonly name = 'DatabaseUnreachableError'
  constructor({ host, port, database }: pg.Client, cause: unknown) {
    const { message, code = '' } = cause as { message: string; code?: string }
    const remedy = remedyOf(message, code)
    const reason = `${message || code}${remedy === undefined ? '' : `; ${remedy}`}`
    super(`cannot connect to the database ${database} at ${host}:${port}: ${reason}`, { cause })
  }
}

const unknownAuthority = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])

function remedyOf(message: string, code: string): string | undefined {
  if (unknownAuthority.has(code)) return 'name its authority with sslrootcert=FILE in the URL'
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return 'connect to a name that its certificate contains'
  if (message.includes('does not support SSL')) {
    return 'set ssl to on in PostgreSQL, or sslmode=disable in the URL in a network that only you can read'
  }
  return undefined
}

/** Code of an error that the server reported, such as `23505`. */
export const postgresCode = (error: unknown): string | undefined =>
  error instanceof pg.DatabaseError ? error.code : undefined

/** Returns whether the server refused one statement and the connection is still usable. */
export const isStatementError = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && error.severity !== 'FATAL' && error.severity !== 'PANIC'

const damages = /^XX00[12]$/

/** Returns whether PostgreSQL found a damaged page of a table or index. */
export const isDamage = (error: unknown): boolean => damages.test(postgresCode(error) ?? '')

/**
 * Classes and codes that say nothing about the statement: a standby, a rollback for a deadlock, no space or
 * memory, a lock or a time limit, an error of the disk, a damaged page. The same statement may succeed later.
 */
const troubles = new RegExp(`^(25006|40|53|55P03|57|58)|${damages.source}`)

/** Returns whether the database has a trouble of its own, or is not reached. */
export const isTrouble = (error: unknown): boolean =>
  !isStatementError(error) || troubles.test(postgresCode(error) ?? '')

/** The server tells at the start of a connection whether it is a standby. */
function readStandby(client: pg.Client): () => boolean {
  let isStandby = false
  const note = ({ parameterName, parameterValue }: { parameterName: string; parameterValue: string }) => {
    if (parameterName === 'in_hot_standby') isStandby = parameterValue === 'on'
  }
  client.connection.on('parameterStatus', note)
  return () => isStandby
}
