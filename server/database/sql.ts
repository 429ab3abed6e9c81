/**
 * The SQL fragments in which SQLite and PostgreSQL differ. All other queries use the query builder, or SQL
 * that both have.
 *
 * Rows of audit, messages and tasks get their ids when they are inserted, so SQLite's rowids are in the order
 * of the ids. Each index of SQLite ends in the rowid. An index without the id is half as large and takes half
 * as long to write. The indexes of PostgreSQL end in the id.
 */
import { type OperationNode, type RawBuilder, RawNode, type SqlBool, sql } from 'kysely'

/** Node of a fragment that has another form on PostgreSQL. */
interface TwoForms extends RawNode {
  readonly postgres: RawNode
}

/** Returns the form of a fragment that PostgreSQL understands. */
export const postgresForm = (node: RawNode): RawNode =>
  'postgres' in node ? (node as TwoForms).postgres : node

/** Writes the first form for SQLite and the second for PostgreSQL. */
function either<T>(sqlite: RawBuilder<unknown>, postgres: RawBuilder<unknown>): RawBuilder<T> {
  const toOperationNode = (): OperationNode => {
    const node: TwoForms = { ...rawNodeOf(sqlite), postgres: rawNodeOf(postgres) }
    return Object.freeze(node)
  }
  return sql<T>`${{ toOperationNode }}`
}

function rawNodeOf(fragment: RawBuilder<unknown>): RawNode {
  const node = fragment.toOperationNode()
  if (RawNode.is(node)) return node
  throw new TypeError('a fragment of SQL is raw')
}

type InOrder = 'audit' | 'messages' | 'tasks'

/** Key that is in the order of insertion: the rowid, or the id. */
export const inOrder = either<number>(sql`rowid`, sql`id`)

/** {@link inOrder} of a named table. */
export const inOrderOf = (table: string) =>
  either<number>(sql`${sql.table(table)}.rowid`, sql`${sql.table(table)}.id`)

/**
 * Order of rows with one value of `column`. The planner of PostgreSQL does not see that `is null` leaves one
 * value, so its index on (…, column, id) needs the column in the order.
 */
export const inOrderWithin = (column: string, direction: 'asc' | 'desc') =>
  either<number>(
    sql`rowid ${sql.raw(direction)}`,
    sql`${sql.ref(column)} ${sql.raw(direction)}, id ${sql.raw(direction)}`,
  )

/**
 * End of each part of a `union all` whose rows are merged in this order. SQLite reads a part only as far as
 * the page needs it. PostgreSQL does so only if the part has its own limit.
 */
export const pageOfPart = (order: RawBuilder<unknown>, limit: number) =>
  either<unknown>(sql``, sql`order by ${order} limit ${limit}`)

/**
 * Keys of the rows of `audit` that `rows` selects for each of the `kinds`: on PostgreSQL the first of them
 * only. SQLite has no `lateral`.
 */
export const firstOfKinds = (rows: RawBuilder<unknown>, direction: 'asc' | 'desc', limit: number) =>
  either<number>(
    sql`select first.rowid from kinds cross join audit as first
      where kinds.kind is not null and first.rowid in (${rows})`,
    sql`select first.id from kinds cross join lateral (${rows}) as first
      where kinds.kind is not null order by first.id ${sql.raw(direction)} limit ${limit}`,
  )

/**
 * Least kind of the rows of `audit`. The planner of PostgreSQL follows the index for `min` only if no column
 * before it is null.
 */
export const leastKind = (rows: RawBuilder<unknown>) =>
  either<string>(sql`select min(kind) ${rows}`, sql`(select kind ${rows} order by project_id, kind limit 1)`)

/**
 * Rows with these keys. The planner of PostgreSQL scans the table for the result of a subquery, and follows
 * the index for an array.
 */
export const isAmong = (keys: RawBuilder<unknown>) =>
  either<SqlBool>(sql`rowid in (${keys})`, sql`id = any(array(${keys}))`)

/** {@link inOrder} of a stored answer, which has no id. */
export const arrival = either<number>(sql`rowid`, sql`arrival`)

/** {@link arrival} of a named table. */
export const arrivalOf = (table: string) =>
  either<number>(sql`${sql.table(table)}.rowid`, sql`${sql.table(table)}.arrival`)

/**
 * Rows after this id. `likely` tells SQLite that most rows match, so it prefers an index on a column with
 * `=`.
 */
export const beyond = (table: InOrder, id: string) =>
  either<SqlBool>(sql`likely(rowid > ${rowidUpTo(table, id)})`, sql`id > ${id}`)

/** Rows before this id. */
export const below = (table: InOrder, id: string) =>
  either<SqlBool>(sql`likely(rowid < ${rowidFrom(table, id)})`, sql`id < ${id}`)

/** Rows up to this id. */
export const upTo = (table: InOrder, id: string) =>
  either<SqlBool>(sql`likely(rowid <= ${rowidUpTo(table, id)})`, sql`id <= ${id}`)

/** Rowid of the last row whose id is not greater, or 0. */
const rowidUpTo = (table: InOrder, id: string) =>
  sql<number>`ifnull((select rowid from ${sql.table(table)} where id <= ${id} order by id desc limit 1), 0)`

/** Rowid of the first row whose id is not smaller, or a bound above all rowids. */
const rowidFrom = (table: InOrder, id: string) =>
  sql<number>`ifnull((select rowid from ${sql.table(table)} where id >= ${id} order by id limit 1), ${sql.lit(lastRowid)})`

const lastRowid = 2 ** 53

/**
 * Whether a column has one of many values. The list of SQLite has a place for each value. On PostgreSQL the
 * values are one array, so the statement is the same for any number of them.
 */
export const isOneOf = (column: string, values: readonly string[]) =>
  either<SqlBool>(sql`${sql.ref(column)} in (${sql.join(values)})`, sql`${sql.ref(column)} = any(${values})`)

/**
 * Column for which SQLite uses no index, because a unary plus hides it. Without statistics the planner can
 * choose badly. PostgreSQL has statistics.
 */
export const aside = (column: string) => either<string>(sql`+${sql.ref(column)}`, sql`${sql.ref(column)}`)

/** Condition for the `pairings` row of two agents, in any order. */
export const isPairOf = (one: RawBuilder<unknown>, other: RawBuilder<unknown>) =>
  either<SqlBool>(
    sql`pairings.agent_a = min(${one}, ${other}) and pairings.agent_b = max(${one}, ${other})`,
    sql`pairings.agent_a = least(${one}, ${other}) and pairings.agent_b = greatest(${one}, ${other})`,
  )

/** An instant as a number of days. The difference of two is a duration. */
export const days = (instant: RawBuilder<unknown>) =>
  either<number>(
    sql`julianday(${instant})`,
    sql`(extract(epoch from cast(${instant} as timestamptz)) / 86400)`,
  )

/** Number of bytes of a text. */
export const bytesOf = (column: string) => sql<number>`octet_length(${sql.ref(column)})`
