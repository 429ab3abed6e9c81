import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { createIds } from '../../../server/database/ids.ts'
import { greatestId } from '../../../server/database/sqlite/greatest-id.ts'
import { add, openStore, start } from './store.ts'

const rises = (ids: readonly string[]) => ids.every((id, index) => index === 0 || id > (ids[index - 1] ?? ''))
const shape = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

test('an id is a lower-case UUIDv7 that contains its millisecond', () => {
  const id = createIds(undefined, randomBytes).next(start)
  expect(id).toMatch(shape)
  expect(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)).toBe(start.getTime())
})

test('twenty thousand ids of one millisecond are strictly increasing', () => {
  const ids = createIds(undefined, randomBytes)
  const made = Array.from({ length: 20_000 }, () => ids.next(start))
  expect(rises(made)).toBe(true)
  expect(made.every((id) => shape.test(id))).toBe(true)
})

test('ids increase while the clock moves back and forth', () => {
  const ids = createIds(undefined, randomBytes)
  const steps = [0, 5, -3_600_000, 1, 4, 3_600_000, -1, 0]
  expect(rises(steps.map((step) => ids.next(new Date(start.getTime() + step))))).toBe(true)
})

test('after a restart with an earlier clock, ids continue above the highest id of any table', async () => {
  const store = openStore()
  await store.writer.write((tx) => add(tx, 'ada'))
  const last = await store.writer.write(async (tx) => {
    const id = tx.id()
    await tx.db
      .insertInto('audit')
      .values({
        id,
        at: tx.nowIso,
        kind: 'note.taken',
        actor_kind: 'system',
        actor_name: 'system',
        subject_type: 'note',
        details: '{}',
        project_id: null,
        actor_id: null,
        subject_id: null,
        request_id: null,
      })
      .execute()
    return id
  })
  expect(greatestId(store.bystander)).toBe(last)
  const ids = createIds(greatestId(store.bystander), randomBytes)
  expect(rises([last, ids.next(new Date(0)), ids.next(start)])).toBe(true)
})

test('a last id that is not a UUIDv7 is refused', () => {
  expect(() => createIds('0b9d7a54-3c1e-4f0b-8f6a-2d1f5f7c9e10', randomBytes)).toThrow(RangeError)
})
