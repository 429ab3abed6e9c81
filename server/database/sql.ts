/**
 * SQL fragments that only SQLite understands. All other queries use the query builder, or SQL that PostgreSQL
 * has, too.
 *
 * Rows of audit, messages and tasks get their ids when they are inserted, so their rowids are in the order of
 * the ids. Each index of SQLite ends in the rowid. An index without the id is half as large and takes half as
 * long to write.
 */
import { type RawBuilder, type SqlBool, sql } from 'kysely'

type InOrder = 'audit' | 'messages' | 'tasks'

/** The rowid, which is in the order of insertion. */
export const inOrder = sql<number>`rowid`

/** {@link inOrder} of a named table. */
export const inOrderOf = (table: string) => sql<number>`${sql.table(table)}.rowid`

/**
 * Rows after this id. `likely` tells SQLite that most rows match, so it prefers an index on a column with
 * `=`.
 */
export const beyond = (table: InOrder, id: string) => sql<SqlBool>`likely(rowid > ${rowidUpTo(table, id)})`

/** Rows before this id. */
export const below = (table: InOrder, id: string) => sql<SqlBool>`likely(rowid < ${rowidFrom(table, id)})`

/** Rows up to this id. */
export const upTo = (table: InOrder, id: string) => sql<SqlBool>`likely(rowid <= ${rowidUpTo(table, id)})`

/** Rowid of the last row whose id is not greater, or 0. */
const rowidUpTo = (table: InOrder, id: string) =>
  sql<number>`ifnull((select rowid from ${sql.table(table)} where id <= ${id} order by id desc limit 1), 0)`

/** Rowid of the first row whose id is not smaller, or a bound above all rowids. */
const rowidFrom = (table: InOrder, id: string) =>
  sql<number>`ifnull((select rowid from ${sql.table(table)} where id >= ${id} order by id limit 1), ${sql.lit(lastRowid)})`

const lastRowid = 2 ** 53

/**
 * Column for which SQLite uses no index, because a unary plus hides it. Without statistics the planner can
 * choose badly.
 */
export const aside = (column: string) => sql<string>`+${sql.ref(column)}`

/** Condition for the `pairings` row of two agents, in any order. */
export const isPairOf = (one: RawBuilder<unknown>, other: RawBuilder<unknown>) =>
  sql<SqlBool>`pairings.agent_a = min(${one}, ${other}) and pairings.agent_b = max(${one}, ${other})`

/** An instant as a number of days. The difference of two is a duration. */
export const days = (instant: RawBuilder<unknown>) => sql<number>`julianday(${instant})`

/** Number of bytes of a text. */
export const bytesOf = (column: string) => sql<number>`octet_length(${sql.ref(column)})`
