/**
 * The start of a node whose packages are in an object store: it is refused with the reason if the store
 * cannot be used, and waits for a store that does not answer.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { readConfig } from '../../../server/config.ts'
import { examine } from '../../../server/host/doctor.ts'
import { startServer } from '../../../server/server.ts'
import { startBridge } from '../../support/bridge.ts'
import { freePort } from '../../support/free-port.ts'
import { exchange } from '../../support/http.ts'
import { makeInstallation } from '../../support/installation.ts'
import { type ObjectStore, startObjectStore, testKeys } from '../../support/object-store.ts'
import { dropDatabase, storeSettings } from '../../support/postgres.ts'
import { soon } from '../../support/waits.ts'

let store: ObjectStore
beforeAll(async () => {
  store = await startObjectStore()
})
afterAll(() => store.close())

async function configured(change: object = {}, environment: Record<string, string> = testKeys) {
  const data = await mkdtemp(join(tmpdir(), 'bridge-'))
  onTestFinished(async () => {
    await dropDatabase(data)
    await rm(data, { recursive: true, force: true })
  })
  const settings = { data, port: '0', log_level: 'silent', reserve_bytes: '0', ...storeSettings(data) }
  const config = readConfig({ ...settings, ...store.settings('start'), ...change }, environment)
  await makeInstallation(config)
  return config
}

describe('the start is refused if', () => {
  const cases: [string, () => object, Record<string, string>, RegExp, remedy: RegExp][] = [
    [
      'the bucket does not exist',
      () => ({ packages: 's3://other/start' }),
      testKeys,
      /the bucket does not exist/,
      /create the bucket/,
    ],
    [
      'the secret is wrong',
      () => ({}),
      { ...testKeys, AWS_SECRET_ACCESS_KEY: 'x' },
      /the secret of the access key/,
      /correct AWS_SECRET_ACCESS_KEY/,
    ],
    [
      'the key is unknown',
      () => ({}),
      { ...testKeys, AWS_ACCESS_KEY_ID: 'x' },
      /does not know the access key/,
      /correct AWS_ACCESS_KEY_ID/,
    ],
    [
      'the region is wrong',
      () => ({ packages_region: 'other' }),
      testKeys,
      /in another region/,
      /set packages_region/,
    ],
    [
      'there are no credentials',
      () => ({}),
      { HOME: '/nowhere' },
      /set AWS_ACCESS_KEY_ID and AWS_SECRET/,
      /with the credentials of the node/,
    ],
  ]
  test.each(cases)('%s', async (_, change, environment, message, remedy) => {
    const config = await configured(change(), environment)
    await expect(startServer(config)).rejects.toThrow(message)
    const finding = (await examine(config, new Date())).find(({ check }) => check === 'packages')
    expect(finding).toMatchObject({
      ...{ state: 'problem', exit: 'unexpected' },
      ...{ text: expect.stringMatching(message), remedy: expect.stringMatching(remedy) },
    })
  })

  test('another installation uses the prefix', async () => {
    const first = await startServer(await configured())
    onTestFinished(() => first.stop())
    await expect(startServer(await configured())).rejects.toThrow(
      `it holds the packages of another installation (${first.serverId})`,
    )
  })

  test('the key may not write', async () => {
    store.faults = {
      before: ({ verb }) => (verb === 'PUT' ? { status: 403, code: 'AccessDenied' } : undefined),
    }
    await expect(startServer(await configured())).rejects.toThrow('the node cannot write there')
    store.faults = {}
  })
})

test('a store that does not answer at the start leaves the node ready, and only its packages not', async () => {
  store.faults = { before: () => ({ status: 500, code: 'InternalError' }) }
  const server = await startServer(await configured({ packages: 's3://bridge/late' }))
  onTestFinished(() => server.stop())
  const ready = async () => (await exchange(server.url, { method: 'GET', target: '/api/ready' })).json
  expect(await ready()).toMatchObject({ ready: true, packages: false, checks: { storage: true } })
  store.faults = {}
  await vi.waitFor(async () => expect(await ready()).toMatchObject({ ready: true, packages: true }), soon)
})

test.each<[string, () => Promise<object>, text: RegExp, remedy: RegExp]>([
  [
    'does not run',
    async () => ({ packages_endpoint: `http://127.0.0.1:${await freePort()}` }),
    /^s3:\/\/bridge\/start does not answer: .*ECONNREFUSED/,
    /start the object store, or correct packages_endpoint/,
  ],
  [
    'answers 500',
    async () => {
      store.faults = { before: () => ({ status: 500, code: 'InternalError' }) }
      return {}
    },
    /^s3:\/\/bridge\/start: the object store answered 500 InternalError$/,
    /check the object store/,
  ],
])('doctor says that the object store %s, and what to do', async (_, change, text, remedy) => {
  const config = await configured(await change())
  const finding = (await examine(config, new Date())).find(({ check }) => check === 'packages')
  store.faults = {}
  expect(finding).toMatchObject({
    ...{ state: 'problem', exit: 'unexpected' },
    ...{ text: expect.stringMatching(text), remedy: expect.stringMatching(remedy) },
  })
})

test('the probe leaves the name of the installation only, and doctor says which', async () => {
  const config = await configured({ packages: 's3://bridge/probe' })
  const server = await startServer(config)
  onTestFinished(() => server.stop())
  expect([...store.objects.keys()].filter((key) => key.startsWith('probe/'))).toEqual(['probe/agent-bridge'])
  expect(await examine(config, new Date())).toContainEqual({
    check: 'packages',
    state: 'ok',
    text: `s3://bridge/probe answers, used by the node ${server.serverId}`,
  })
})

test('the start removes objects of no open transfer that are an hour old, and no others', async () => {
  const bridge = await startBridge({ settings: store.settings('strays'), environment: testKeys })
  onTestFinished(() => bridge.close())
  const hash = 'a'.repeat(64)
  const [old, young] = ['00000000-0000-7000-8000-000000000001', '00000000-0000-7000-8000-000000000002']
  const put = (key: string, ageMs: number) =>
    void store.objects.set(key, { bytes: Buffer.from('x'), changedAt: new Date(Date.now() - ageMs) })
  for (let index = 0; index < 7; index += 1) put(`strays/packages/${old}/${index}-${hash}`, 3_700_000)
  put(`strays/packages/${young}/0-${hash}`, 3_500_000)
  put('strays/packages/notes.txt', 9_000_000)
  put(`other/packages/${old}/0-${hash}`, 9_000_000)
  const restarted = await bridge.restart()
  onTestFinished(() => restarted.server.stop())
  const left = () => [...store.objects.keys()].filter((key) => key.includes('packages/')).sort()
  await vi.waitFor(
    () =>
      expect(left()).toEqual([
        `other/packages/${old}/0-${hash}`,
        `strays/packages/${young}/0-${hash}`,
        'strays/packages/notes.txt',
      ]),
    soon,
  )
})
