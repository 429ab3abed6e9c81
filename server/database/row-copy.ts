/** Tables that a move copies, in the order of their references, and pages of their rows. */
import { createHash } from 'node:crypto'

export interface CopiedTable {
  readonly name: string
  /** Columns whose values are unique together. Both databases compare them byte by byte. */
  readonly key: readonly [string, ...string[]]
  /** Whether the order in which the rows arrived matters and is not that of the key. */
  readonly byArrival?: true
}

/** Every table but those of the schema and of the database itself. A row refers to earlier tables only. */
export const copiedTables: readonly CopiedTable[] = [
  { name: 'server', key: ['one'] },
  { name: 'steady_clock', key: ['one'] },
  { name: 'maintenance', key: ['one'] },
  { name: 'owner_users', key: ['id'] },
  { name: 'owner_links', key: ['token_sha256'] },
  { name: 'owner_sessions', key: ['id'] },
  { name: 'projects', key: ['id'] },
  { name: 'project_administrators', key: ['user_id', 'project_id'] },
  { name: 'environments', key: ['id'] },
  { name: 'agents', key: ['id'] },
  { name: 'pairings', key: ['id'] },
  { name: 'credentials', key: ['id'] },
  { name: 'enrollments', key: ['id'] },
  { name: 'sessions', key: ['id'] },
  { name: 'challenges', key: ['challenge_sha256'] },
  { name: 'takeovers', key: ['agent_id'] },
  { name: 'recipient_keys', key: ['agent_id'] },
  { name: 'conversations', key: ['id'] },
  { name: 'messages', key: ['id'] },
  { name: 'inboxes', key: ['agent_id'] },
  { name: 'tasks', key: ['id'] },
  { name: 'task_releases', key: ['task_id', 'claim_generation'] },
  { name: 'transfers', key: ['id'] },
  { name: 'transfer_secrets', key: ['transfer_id'] },
  { name: 'transfer_parts', key: ['transfer_id', 'part'] },
  { name: 'nonces', key: ['credential_id', 'nonce'], byArrival: true },
  { name: 'replay_floor', key: ['one'] },
  { name: 'idempotency', key: ['principal', 'key', 'route', 'method'], byArrival: true },
  { name: 'telemetry_token', key: ['one'] },
  { name: 'telemetry_hosts', key: ['host'] },
  { name: 'audit', key: ['id'] },
]

export interface Column {
  readonly name: string
  readonly type: 'TEXT' | 'INTEGER' | 'REAL' | 'BLOB'
}

/** Columns of each table. A move reads them from the side that is SQLite. */
export type Columns = ReadonlyMap<string, readonly Column[]>

export type Row = Readonly<Record<string, unknown>>

/** Rows of a page, and of a statement that inserts them. */
export const rowsPerPage = 500

/** The rows of one database. */
export interface Rows {
  count(table: CopiedTable): Promise<number>
  /** Returns pages in the order of the key, or in that of arrival. */
  pages(table: CopiedTable, order: 'key' | 'arrival'): AsyncIterable<readonly Row[]>
}

export interface RowsTarget extends Rows {
  /** Inserts rows in their order. */
  insert(table: CopiedTable, rows: readonly Row[]): Promise<unknown>
}

export const columnsOf = (columns: Columns, { name }: CopiedTable): readonly Column[] => {
  const found = columns.get(name)
  if (found === undefined) throw new Error(`no table ${name}`)
  return found
}

export interface Digest {
  readonly rows: number
  readonly sha256: string
}

/** SHA-256 over the rows of a table. Each row is one line of JSON; bytes are in hexadecimal. */
export class RowDigest {
  readonly #names: readonly string[]
  readonly #hash = createHash('sha256')
  #rows = 0

  constructor(columns: readonly Column[]) {
    this.#names = columns.map(({ name }) => name)
  }

  add(rows: readonly Row[]): void {
    for (const row of rows) {
      this.#hash.update(JSON.stringify(this.#names.map((name) => plain(row[name]))))
      this.#hash.update('\n')
    }
    this.#rows += rows.length
  }

  end(): Digest {
    return { rows: this.#rows, sha256: this.#hash.digest('hex') }
  }
}

const plain = (value: unknown): unknown => (Buffer.isBuffer(value) ? { hex: value.toString('hex') } : value)
