/** The row types describe the database: exactly its tables and columns, each with a comment. */
import { expect, test } from 'vitest'
import { describedTables, schemaPage, withFreshDatabase } from '../../docs/generate/schema.ts'

const described = describedTables()

/** A map from table to its columns in a fresh database. */
const tables = withFreshDatabase((database) => {
  const names = database
    .prepare<[], string>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
    )
    .pluck()
    .all()
  const columns = database
    .prepare<[string], string>('SELECT name FROM pragma_table_info(?) ORDER BY name')
    .pluck()
  return new Map(names.map((name) => [name, columns.all(name)]))
})

test('every table of a fresh database has a type, and every type a table', () => {
  expect(tables.size).toBeGreaterThan(25)
  expect([...described.keys()].sort()).toEqual([...tables.keys()])
})

test.each([...tables])(
  '%s: each column has a comment, and the type names no other column',
  (table, columns) => {
    const about = described.get(table)
    expect(about?.comment).toMatch(/^\w((?!\/\*|\*\/).)*\.$/)
    expect([...(about?.columns.keys() ?? [])].sort()).toEqual(columns)
    const without = columns.filter(
      (column) => !/^\w((?!\/\*|\*\/).)*\.$/.test(about?.columns.get(column) ?? ''),
    )
    expect(without).toEqual([])
  },
)

test('the page has each comment above its column, and each index under its table', () => {
  const page = schemaPage()
  for (const { comment } of described.values())
    expect(page).toContain(`\n-- ${comment.split(' ').slice(0, 4).join(' ')}`)
  expect(page).toContain('  -- In steady time. Null while no claim is held.\n  claim_ends_at TEXT,\n')
  expect(page).toMatch(/\) STRICT;\nCREATE INDEX tasks_held ON tasks/)
})

test('a statement of the page creates the same table', () => {
  withFreshDatabase((fresh) => {
    const before = fresh
      .prepare("SELECT count(*) FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'")
      .pluck()
      .get()
    for (const table of tables.keys()) fresh.exec(`PRAGMA foreign_keys = OFF; DROP TABLE ${table}`)
    fresh.exec(schemaPage())
    expect(
      fresh.prepare("SELECT count(*) FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'").pluck().get(),
    ).toBe(before)
  })
})
