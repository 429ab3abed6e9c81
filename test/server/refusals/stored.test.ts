/** The reader that other tests use to check "nothing is stored" detects stored data. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { isOnPostgres } from '../../support/postgres.ts'
import { StoredReader } from '../../support/stored.ts'

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
