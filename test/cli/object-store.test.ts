/** `bridge server status` and `bridge server doctor` of a node whose packages are in an object store. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from 'vitest'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { Desk } from '../support/desk.ts'
import { type ObjectStore, startObjectStore, testKeys } from '../support/object-store.ts'

const failing = { before: () => ({ status: 500, code: 'InternalError' }) }

let store: ObjectStore
let desk: Desk
beforeAll(async () => {
  store = await startObjectStore()
  desk = await Desk.make()
})
afterAll(async () => {
  await desk.remove()
  await store.close()
})
afterEach(() => {
  store.faults = {}
})

async function started(prefix: string): Promise<TestBridge> {
  const bridge = await startBridge({ settings: store.settings(prefix), environment: testKeys })
  onTestFinished(() => bridge.close())
  return bridge
}

const status = ({ data }: TestBridge) => desk.run(['server', 'status', '--data', data])

async function doctor({ data }: TestBridge, environment: Readonly<Record<string, string>> = testKeys) {
  const { stdout } = await desk.run(['server', 'doctor', '--data', data, '--json'], { environment })
  const { findings } = JSON.parse(stdout) as { findings: { check: string }[] }
  return findings.find(({ check }) => check === 'packages')
}

test('both name a store that answers, and doctor a key that is wrong or missing in its environment', async () => {
  const bridge = await started('answers')
  expect(await status(bridge)).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^packages +s3:\/\/bridge\/answers$/m),
  })
  expect(await doctor(bridge)).toMatchObject({
    state: 'ok',
    text: `s3://bridge/answers answers, used by the node ${bridge.server.serverId}`,
  })
  expect(await doctor(bridge, { ...testKeys, AWS_SECRET_ACCESS_KEY: 'x' })).toMatchObject({
    state: 'problem',
    text: expect.stringContaining('the secret of the access key is wrong'),
    remedy: expect.stringContaining('correct AWS_SECRET_ACCESS_KEY'),
  })
  expect(await doctor(bridge, {})).toMatchObject({
    state: 'problem',
    text: expect.stringContaining('set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY'),
    remedy: expect.stringContaining('with the credentials of the node'),
  })
})

test('both say that a store does not answer, and not that the disk is full', async () => {
  store.faults = failing
  const bridge = await started('silent')
  const ended = await status(bridge)
  expect(ended).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(
      /^packages +s3:\/\/bridge\/silent does not answer, see bridge server doctor\nready +yes$/m,
    ),
  })
  expect(ended.stdout + ended.stderr).not.toContain('disk')
  expect(await doctor(bridge)).toMatchObject({
    state: 'problem',
    text: 's3://bridge/silent: the object store answered 500 InternalError',
    remedy: expect.stringContaining('check the object store'),
  })
})

test('a move from one bucket to another is refused, and says how to go there', async () => {
  const bridge = await started('first')
  await bridge.server.stop()
  await writeFile(join(bridge.data, 'config.json'), JSON.stringify(store.settings('first')))
  const { packages } = store.settings('second')
  const args = ['server', 'move', '--data', bridge.data, '--packages', packages]
  expect(await desk.run(args, { environment: testKeys })).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(
      /the packages are in s3:\/\/bridge\/first\nhint: .*to another bucket, they move to the folder first/,
    ),
  })
  expect([...store.objects.keys()].filter((key) => key.startsWith('second/'))).toEqual([])
})
