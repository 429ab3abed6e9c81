/**
 * Three small migrations. Each statement is followed by a point at which the process can be killed: `here(1)`
 * to `here(6)`.
 */
import type { Migration } from '../../../server/database/migrations/index.ts'

export const places = 6

export const threeMigrations: readonly Migration[] = [
  {
    number: 1,
    name: 'people',
    sql: 'CREATE TABLE people (name TEXT) STRICT; SELECT here(1); INSERT INTO people VALUES (1); SELECT here(2);',
  },
  {
    number: 2,
    name: 'age',
    sql: 'ALTER TABLE people ADD COLUMN age INTEGER; SELECT here(3); UPDATE people SET age = 1; SELECT here(4);',
  },
  {
    number: 3,
    name: 'by_age',
    sql: 'CREATE INDEX people_by_age ON people (age); SELECT here(5); UPDATE people SET age = age + 1; SELECT here(6);',
  },
]
