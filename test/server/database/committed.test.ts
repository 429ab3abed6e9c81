/**
 * Writes that are committed but not durable yet: when they are answered, and the effect of a failed sync. The
 * test controls the syncs.
 */
import { setImmediate as immediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { committed, held, names, until } from './held-syncs.ts'
import { add, openStore, outcomes } from './store.ts'

test('no write is answered or takes effect before the sync; afterwards all are, in order', async () => {
  const { syncs, told, names: onDisk, first } = await committed()
  expect(onDisk()).toEqual(names)
  expect(told).toEqual([])
  syncs[0]?.resolve()
  await first
  expect(told).toEqual([...names.map((name) => `effect ${name}`), ...names])
})

test('the next groups are committed during a sync and share the following sync', async () => {
  const { syncs, told, write, names: onDisk, first, writer } = await committed()
  const second = write('dora')
  await until(() => onDisk().length === 4)
  const third = write('emil')
  await until(() => onDisk().length === 5)
  expect(syncs).toHaveLength(1)
  syncs[0]?.resolve()
  await first
  await until(() => syncs.length === 2)
  expect(told).not.toContain('dora')
  syncs[1]?.resolve()
  await Promise.all([second, third])
  expect(told.slice(-4)).toEqual(['effect dora', 'effect emil', 'dora', 'emil'])
  expect(syncs).toHaveLength(2)
  expect(writer.stats()).toMatchObject({ groups: 3, requests: 5 })
})

test('a read that sees data that is not durable yet is answered or refused after its sync', async () => {
  const { syncs, reader, first } = await committed()
  const seen: unknown[] = []
  const count = reader.read(async (db) => {
    const rows = await db.selectFrom('owner_users').select('name').execute()
    seen.push(rows.length)
    return rows.length
  })
  const refused = reader.read(async () => {
    throw new Error('nothing to see')
  })
  const answers = Promise.allSettled([count, refused]).then((settled) => {
    seen.push('answered')
    return settled
  })
  await until(() => seen.length > 0)
  await immediate()
  expect(seen).toEqual([3])
  syncs[0]?.resolve()
  await first
  expect(await answers).toMatchObject([{ status: 'fulfilled', value: 3 }, { status: 'rejected' }])
  // No sync is running, so the read does not wait.
  expect(await reader.read(async () => 'at once')).toBe('at once')
})

test('a failed sync fails its own groups, the later groups, and every read of their data', async () => {
  const { syncs, told, write, names: onDisk, first, writer, reader, fatal } = await committed()
  const second = write('dora')
  await until(() => onDisk().length === 4)
  const waiting = write('emil')
  const read = reader.read((db) => db.selectFrom('owner_users').select('name').execute())
  const failure = Object.assign(new Error('i/o error'), { code: 'EIO' })
  syncs[0]?.reject(failure)
  await Promise.all([first, second, waiting])
  expect(told).toEqual([...names, 'dora', 'emil'].map((name) => `${name} unavailable`))
  expect(fatal).toEqual([failure])
  expect(writer.state()).toBe('broken')
  expect(await outcomes([read, write('fritz'), reader.read(async () => 1)])).toEqual([
    'unavailable',
    'done',
    'unavailable',
  ])
  expect(told.at(-1)).toBe('fritz unavailable')
  expect(syncs).toHaveLength(1)
})

test('closing waits for the sync', async () => {
  const { syncs, told, writer, first } = await committed()
  let closed = false
  const closing = writer.close().then(() => {
    closed = true
  })
  await immediate()
  expect(closed).toBe(false)
  syncs[0]?.resolve()
  await Promise.all([first, closing])
  expect(told).toContain('cleo')
})

test('a single request is synced on the main thread, unless the disk is slow', async () => {
  let nowMs = 0
  const { walSync, syncs } = held()
  let slowMs = 0
  const store = openStore({
    monotonicMs: () => nowMs,
    walSync: {
      ...walSync,
      syncNow() {
        nowMs += slowMs
      },
    },
  })
  await store.writer.write((tx) => add(tx, 'ada'))
  slowMs = 5
  await store.writer.write((tx) => add(tx, 'ben'))
  expect(syncs).toHaveLength(0)
  const third = store.writer.write((tx) => add(tx, 'cleo'))
  await until(() => syncs.length === 1)
  syncs[0]?.resolve()
  await third
  // The last sync took no time, so the disk counts as fast again.
  slowMs = 0
  await store.writer.write((tx) => add(tx, 'dora'))
  expect(syncs).toHaveLength(1)
})
