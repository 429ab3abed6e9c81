/**
 * Packages move between the data folder and an object store of a stopped node: whole ones and parts, compared
 * by their hash. The old place stays complete until the setting names the new one.
 */
import { randomBytes } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { readConfig } from '../../../server/config.ts'
import { movePackages } from '../../../server/host/moves/package-stores.ts'
import { startServer } from '../../../server/server.ts'
import type { SettingName } from '../../../server/settings.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { act, look, offer, putPart, told, upload } from '../../support/files.ts'
import { dropConnections } from '../../support/http.ts'
import { type ObjectStore, startObjectStore, testKeys } from '../../support/object-store.ts'
import { storeSettings } from '../../support/postgres.ts'

const partSize = 100_000
const bytes = randomBytes(2 * partSize)
const part = (index: number) => bytes.subarray(index * partSize, (index + 1) * partSize)

let store: ObjectStore
beforeAll(async () => {
  store = await startObjectStore()
})
afterAll(() => store.close())

type Settings = Partial<Record<SettingName, string>>

const configOf = ({ data }: { data: string }, settings: Settings) =>
  readConfig({ data, port: '0', log_level: 'silent', ...storeSettings(data), ...settings }, testKeys)

const moving = (bridge: TestBridge, from: Settings, to: Settings, keepSettings = async () => {}) =>
  movePackages({
    ...{ config: configOf(bridge, from), to: configOf(bridge, to).packagesPlace, keepSettings },
    ...{ clock: () => new Date(), monotonicMs: () => performance.now(), random: randomBytes },
    signal: new AbortController().signal,
  })

const folderOf = ({ data }: TestBridge) =>
  readdirSync(join(data, 'packages')).filter((name) => !name.includes('.'))

describe.each<[string, boolean]>([
  ['the data folder to an object store', true],
  ['an object store to the data folder', false],
])('from %s', (what, isToObjects) => {
  const objects = store_settings(what)
  const [from, to]: [Settings, Settings] = isToObjects ? [{}, objects] : [objects, {}]

  function store_settings(name: string): Settings {
    return { packages: `s3://bridge/${name.replaceAll(' ', '-')}`, packages_region: 'test-region' }
  }

  test('a whole package and a begun one move, and both go on there', async () => {
    const endpoint = { packages_endpoint: store.endpoint }
    const [before, after] = [
      { ...from, ...endpoint },
      { ...to, ...endpoint },
    ]
    const bridge = await startBridge({ settings: before, environment: testKeys })
    onTestFinished(() => bridge.close())
    const { ada, ben } = bridge
    const whole = await offer({ from: ada, to: ben, bytes, partSize })
    await upload(ada, whole, bytes)
    await act(ben, whole.id, 'accept')
    const begun = await offer({ from: ada, to: ben, bytes, partSize })
    await putPart(ada, begun.id, 1, part(1))
    await expect(moving(bridge, before, after)).rejects.toThrow('stop it first')
    await bridge.server.stop()

    await expect(startServer(configOf(bridge, after))).rejects.toThrow('bridge server move --packages')
    const stopped = new Error('killed')
    const killed = () => Promise.reject(stopped)
    await expect(moving(bridge, before, after, killed)).rejects.toThrow(stopped)
    expect(await moving(bridge, before, after)).toMatchObject({ packages: 2, parts: 3, bytes: 3 * partSize })
    const left = isToObjects
      ? folderOf(bridge)
      : [...store.objects.keys()].filter((key) => key.includes(whole.id))
    expect(left).toEqual([])

    const server = await startServer({ ...configOf(bridge, after), port: bridge.server.port })
    onTestFinished(() => server.stop())
    const target = `/api/v1/transfers/${whole.id}/package/file`
    expect((await ben.call({ target })).bytes.equals(bytes)).toBe(true)
    const status = await ada.ok<{ committed_parts: number[] }>({
      target: `/api/v1/transfers/${begun.id}/package/status`,
    })
    expect(status.committed_parts).toEqual([1])
    await upload(ada, begun, bytes)
    expect((await look(ada, begun.id)).package).toMatchObject({ stored_parts: 2 })
    for (const { id } of [whole, begun]) {
      expect((await act(ada, id, 'cancel')).status).toBe(200)
      await expect.poll(async () => (await look(ada, id)).package?.removed_at).toEqual(expect.any(String))
    }
  })
})

test('a part that is damaged in its old place ends the move, and the old place stays', async () => {
  const objects = { ...store.settings('damaged') }
  const bridge = await startBridge({ settings: objects, environment: testKeys })
  onTestFinished(() => bridge.close())
  const { ada, ben } = bridge
  const transfer = await offer({ from: ada, to: ben, bytes, partSize })
  await upload(ada, transfer, bytes)
  await bridge.server.stop()
  const keys = [...store.objects.keys()].filter((key) => key.includes(transfer.id))
  Object.assign(store.objects.get(keys[0] ?? '') ?? {}, { bytes: part(1) })
  await expect(moving(bridge, objects, {})).rejects.toThrow('returned other bytes')
  expect([...store.objects.keys()].filter((key) => key.includes(transfer.id))).toEqual(keys)
  const server = await startServer({ ...configOf(bridge, objects), port: bridge.server.port })
  onTestFinished(() => server.stop())
  expect(told(await ada.call({ target: `/api/v1/transfers/${transfer.id}/package/status` }))[0]).toBe(200)
})

test('packages move back after a move that was killed while it removed the old objects', async () => {
  const objects = { ...store.settings('and-back') }
  const bridge = await startBridge({ settings: objects, environment: testKeys })
  onTestFinished(() => bridge.close())
  const { ada, ben } = bridge
  const transfer = await offer({ from: ada, to: ben, bytes, partSize })
  await upload(ada, transfer, bytes)
  await act(ben, transfer.id, 'accept')
  await bridge.server.stop()
  const killed = new Error('killed')
  await expect(moving(bridge, objects, {}, () => Promise.reject(killed))).rejects.toThrow(killed)
  for (const key of store.objects.keys()) if (key.includes(transfer.id)) store.objects.delete(key)
  const target = `/api/v1/transfers/${transfer.id}/package/file`
  const inFolder = await startServer({ ...configOf(bridge, {}), port: bridge.server.port })
  expect((await ben.call({ target })).bytes.equals(bytes)).toBe(true)
  await inFolder.stop()
  dropConnections(bridge.url)
  expect(await moving(bridge, {}, objects)).toMatchObject({ packages: 1, parts: 2 })
  const inBucket = await startServer({ ...configOf(bridge, objects), port: bridge.server.port })
  onTestFinished(() => inBucket.stop())
  expect((await ben.call({ target })).bytes.equals(bytes)).toBe(true)
})
