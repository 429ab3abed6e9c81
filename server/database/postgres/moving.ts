/** PostgreSQL as a side of a move: pages of rows, and the record of the move. */
import type { Moved } from '../moved.ts'
import {
  type Columns,
  type CopiedTable,
  columnsOf,
  type Row,
  type Rows,
  type RowsTarget,
  rowsPerPage,
} from '../row-copy.ts'
import type { PostgresConnection } from './connection.ts'
import { toStored } from './text.ts'

/** Returns the record of the last move. An older database has none. */
export async function readMoved(connection: PostgresConnection): Promise<Moved | undefined> {
  const { rows: found } = await connection.query<{ exists: number }>({
    text: "SELECT to_regclass('moved') IS NOT NULL AS exists",
  })
  if (found[0]?.exists !== 1) return undefined
  const { rows } = await connection.query<Moved>({ text: 'SELECT state, move_id, place, at FROM moved' })
  return rows[0]
}

export async function writeMoved(
  connection: PostgresConnection,
  { state, move_id, place, at }: Moved,
): Promise<void> {
  await connection.query({
    text: 'INSERT INTO moved (one, state, move_id, place, at) VALUES (1, $1, $2, $3, $4)',
    values: [state, move_id, place, at],
  })
}

/** Removes the record of an arrival, after the source has recorded the same move. */
export async function settleArrival(connection: PostgresConnection, moveId: string): Promise<boolean> {
  const { count } = await connection.query({
    text: "DELETE FROM moved WHERE state = 'arrived' AND move_id = $1",
    values: [moveId],
  })
  return count === 1
}

/** Nonces have no number of their arrival here. Their dates are nearly in that order. */
const arrivals: Readonly<Record<string, readonly string[]>> = {
  idempotency: ['arrival'],
  nonces: ['signed_at', 'credential_id', 'nonce'],
}

export function postgresRows(connection: PostgresConnection, columns: Columns): Rows {
  return {
    async count({ name }) {
      const { rows } = await connection.query<{ count: number }>({ text: `SELECT count(*) FROM ${name}` })
      return rows[0]?.count ?? 0
    },
    async *pages(table, order) {
      const key = (order === 'arrival' ? arrivals[table.name] : undefined) ?? table.key
      const names = new Set([...columnsOf(columns, table).map(({ name }) => name), ...key])
      const page = async (where: string, values: readonly unknown[]) => {
        const { rows } = await connection.query<Row>({
          text: `SELECT ${[...names].join(', ')} FROM ${table.name} ${where}
            ORDER BY ${key.join(', ')} LIMIT ${rowsPerPage}`,
          values,
        })
        return rows
      }
      const after = `WHERE (${key.join(', ')}) > (${key.map((_name, index) => `$${index + 1}`).join(', ')})`
      let rows = await page('', [])
      while (rows.length > 0) {
        yield rows
        const last = rows.at(-1)
        const values = key.map((name) => last?.[name])
        rows = rows.length < rowsPerPage ? [] : await page(after, values)
      }
    },
  }
}

const arrays = { TEXT: 'text', INTEGER: 'bigint', REAL: 'double precision', BLOB: 'bytea' } as const

export function postgresTarget(connection: PostgresConnection, columns: Columns): RowsTarget {
  const insertInto = (table: CopiedTable): string => {
    const all = columnsOf(columns, table)
    const given = all.map(({ type }, index) => `$${index + 1}::${arrays[type]}[]`)
    return `INSERT INTO ${table.name} (${all.map(({ name }) => name).join(', ')})
      SELECT * FROM unnest(${given.join(', ')})`
  }
  return {
    ...postgresRows(connection, columns),
    insert: (table, rows) =>
      connection.query({
        name: `move_${table.name}`,
        text: insertInto(table),
        values: columnsOf(columns, table).map(({ name }) => rows.map((row) => stored(row[name]))),
      }),
  }
}

const stored = (value: unknown): unknown => (typeof value === 'string' ? toStored(value) : value)
