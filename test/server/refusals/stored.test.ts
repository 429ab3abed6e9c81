/** The reader behind "nothing is stored" sees what is stored. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
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

test('a new row, a changed row and a row that is gone are seen', async () => {
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

test('a request that changes nothing leaves the earlier result valid', async () => {
  const before = store.read()
  await bridge.ada.ok({ target: '/api/v1/peers' })
  expect(store.read()).toBe(before)
})
