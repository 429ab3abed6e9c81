/**
 * Fragments of SQL that only SQLite understands: everything else is said by the builder, or in SQL that PostgreSQL has too.
 *
 * Rows of audit, messages and tasks get their ids as they are inserted, so their rowids are in the order of the ids. Every
 * index ends in the rowid. An index that need not hold the id beside it is half as large, and costs half as much to write.
 */
import { type RawBuilder, type SqlBool, sql } from 'kysely'

type InOrder = 'audit' | 'messages' | 'tasks'

/** The rowid: the order in which rows were inserted. */
export const inOrder = sql<number>`rowid`

/** {@link inOrder} of one of several tables. */
export const inOrderOf = (table: string) => sql<number>`${sql.table(table)}.rowid`

/** Rows after this id. `likely` tells SQLite that the range is not selective, so it prefers an equal column. */
export const beyond = (table: InOrder, id: string) => sql<SqlBool>`likely(rowid > ${rowidUpTo(table, id)})`

/** Rows before this id. */
export const below = (table: InOrder, id: string) => sql<SqlBool>`likely(rowid < ${rowidFrom(table, id)})`

/** Rows up to this id. */
export const upTo = (table: InOrder, id: string) => sql<SqlBool>`likely(rowid <= ${rowidUpTo(table, id)})`

/** Of the last row whose id is not greater. */
const rowidUpTo = (table: InOrder, id: string) =>
  sql<number>`ifnull((select rowid from ${sql.table(table)} where id <= ${id} order by id desc limit 1), 0)`

/** Of the first row whose id is not smaller. */
const rowidFrom = (table: InOrder, id: string) =>
  sql<number>`ifnull((select rowid from ${sql.table(table)} where id >= ${id} order by id limit 1), ${sql.lit(lastRowid)})`

const lastRowid = 2 ** 53

/** A column that chooses no index: a unary plus hides it from the planner, which has no statistics to choose by. */
export const aside = (column: string) => sql<string>`+${sql.ref(column)}`

/** The row of `pairings` is that of two agents, in whichever order they are given. */
export const isPairOf = (one: RawBuilder<unknown>, other: RawBuilder<unknown>) =>
  sql<SqlBool>`pairings.agent_a = min(${one}, ${other}) and pairings.agent_b = max(${one}, ${other})`

/** An instant as a number of days, to subtract. */
export const days = (instant: RawBuilder<unknown>) => sql<number>`julianday(${instant})`

/** Bytes of a text. */
export const bytesOf = (column: string) => sql<number>`octet_length(${sql.ref(column)})`
