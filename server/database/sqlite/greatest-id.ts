/** The greatest id in the database file. */
import type Database from 'better-sqlite3'

/** Returns the greatest id of any table, for `createIds`. Each query reads only the end of a primary key. */
export function greatestId(database: Database.Database): string | undefined {
  const tables = database
    .prepare<[], { name: string }>(
      `SELECT name FROM sqlite_schema WHERE type = 'table'
        AND EXISTS (SELECT 1 FROM pragma_table_info(sqlite_schema.name) WHERE name = 'id' AND type = 'TEXT')`,
    )
    .all()
  const greatest = tables.flatMap(({ name }) =>
    database
      .prepare<[], { id: string }>(
        `SELECT id FROM "${name}" WHERE id GLOB '????????-????-7???-????-????????????' ORDER BY id DESC LIMIT 1`,
      )
      .all()
      .map(({ id }) => id),
  )
  return greatest.sort().at(-1)
}
