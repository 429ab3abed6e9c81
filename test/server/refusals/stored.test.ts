/** The reader that other tests use to check "nothing is stored" detects stored data. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { isOnPostgres } from '../../support/postgres.ts'
import { changesBetween, expectSame, StoredReader, stored } from '../../support/stored.ts'
import { withStore } from '../../support/test-store.ts'

let bridge: TestBridge
let store: StoredReader

beforeAll(async () => {
  bridge = await startBridge()
  store = new StoredReader(bridge.data)
})
afterAll(async () => {
  store.close()
  await bridge.close()
})

test('the reader shows a new row, a changed row and a deleted row', async () => {
  const all = [store.read()]
  const { id } = await bridge.owner.createProject('another')
  all.push(store.read())
  await bridge.owner.setProject(id, 'paused')
  all.push(store.read())
  await bridge.owner.deleteProject(id, 'another')
  all.push(store.read())
  const projects = all.map(({ projects = [] }) => projects.filter((line) => line.includes(id)))
  expect(projects.map(({ length }) => length)).toEqual([0, 1, 1, 0])
  expect(projects[1]).not.toEqual(projects[2])
  expect(new Set(all).size).toBe(4)
})

test('the reader shows the same after a request that changes nothing, and on SQLite reads nothing again', async () => {
  const before = store.read()
  await bridge.ada.ok({ target: '/api/v1/peers' })
  expect(store.read()).toEqual(before)
  if (!isOnPostgres) expect(store.read()).toBe(before)
})

test('the reader shows the same after the node removed old nonces, unless no node serves', () => {
  const stopped = stored(bridge.data, { served: false })
  const before = store.read()
  withStore(bridge.data, (own) => own.exec('UPDATE replay_floor SET floor = floor + 1'))
  expectSame([store.read()], [before])
  const changes = changesBetween([stopped], [stored(bridge.data, { served: false })])
  expect(changes).toEqual([
    expect.stringMatching(/^- 0 replay_floor: /),
    expect.stringMatching(/^\+ 0 replay_floor: /),
  ])
})

test('a difference at the end of many long stores is shown', () => {
  const long = { agents: Array.from({ length: 20_000 }, (_, nth) => `id ${nth}, name ${'x'.repeat(60)}`) }
  const before = [long, { ...long, tasks: ['one', 'same', 'same'] }]
  const after = [long, { ...long, tasks: ['same', 'two'] }]
  expect(changesBetween(before, after)).toEqual(['- 1 tasks: one', '- 1 tasks: same', '+ 1 tasks: two'])
  expect(() => expectSame(after, before)).toThrow()
  expect(() => expectSame([{ tasks: ['one', 'two'] }], [{ tasks: ['two', 'one'] }])).toThrow()
  expectSame(before, structuredClone(before))
})
