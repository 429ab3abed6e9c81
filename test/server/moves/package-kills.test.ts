/**
 * `bridge server move --packages` is killed at a request to the object store, in both directions. The node
 * then starts in the place that `config.json` names, with every part, and the same move ends.
 *
 * `BRIDGE_KILLS=200` kills it at each request.
 */
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { readConfig } from '../../../server/config.ts'
import { startServer } from '../../../server/server.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { act, offer, putPart, upload } from '../../support/files.ts'
import { dropConnections } from '../../support/http.ts'
import { type ObjectStore, startObjectStore, testKeys } from '../../support/object-store.ts'
import { storeEnvironment, storeSettings } from '../../support/postgres.ts'
import { program } from '../../support/program.ts'

/** Requests between two kills. */
const stride = process.env.BRIDGE_KILLS === undefined ? 4 : 1
const partSize = 100_000
const bytes = randomBytes(2 * partSize)
const part = (index: number) => bytes.subarray(index * partSize, (index + 1) * partSize)

let store: ObjectStore
beforeAll(async () => {
  store = await startObjectStore()
})
afterAll(() => store.close())

/** Runs the move, and kills it at the request to the store. Returns whether it ended by itself. */
async function moved(data: string, flags: readonly string[], killAt: number): Promise<boolean> {
  const args = ['server', 'move', '--data', data, ...flags]
  const env = { ...process.env, ...testKeys, ...storeEnvironment(args) }
  const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'ignore', 'pipe'], env })
  let requests = 0
  store.faults = {
    before: () => {
      requests += 1
      if (requests === killAt) child.kill('SIGKILL')
      return undefined
    },
  }
  const [errors, [code, signal]] = await Promise.all([text(child.stderr), once(child, 'close')])
  store.faults = {}
  if (signal === 'SIGKILL') return false
  expect({ code, errors }).toEqual({
    code: 0,
    errors: expect.stringMatching(/^next: (npx )?bridge server start/),
  })
  return true
}

interface Files {
  readonly whole: string
  readonly begun: string
}

/** Starts the node on the settings of its folder, and requires every part. */
async function requireServed({ data, server, ada, ben }: TestBridge, { whole, begun }: Files): Promise<void> {
  const rates = { rate_per_second: '100000', rate_burst: '100000', reserve_bytes: '0', log_level: 'silent' }
  const config = readConfig({ data, port: String(server.port), ...rates, ...storeSettings(data) }, testKeys)
  dropConnections(server.url)
  const running = await startServer(config)
  try {
    const file = await ben.call({ target: `/api/v1/transfers/${whole}/package/file` })
    expect(file.bytes.equals(bytes)).toBe(true)
    const status = await ada.ok({ target: `/api/v1/transfers/${begun}/package/status` })
    expect(status).toMatchObject({ committed_parts: [1] })
  } finally {
    await running.stop()
  }
}

test.each(['to an object store', 'to the data folder'])('a move %s that is killed runs again', async (to) => {
  const isToObjects = to === 'to an object store'
  const objects = store.settings(to.replaceAll(' ', '-'))
  const bridge = await startBridge({ settings: isToObjects ? {} : objects, environment: testKeys })
  onTestFinished(() => bridge.close())
  const { ada, ben, data } = bridge
  const whole = await offer({ from: ada, to: ben, bytes, partSize })
  await upload(ada, whole, bytes)
  await act(ben, whole.id, 'accept')
  const begun = await offer({ from: ada, to: ben, bytes, partSize })
  await putPart(ada, begun.id, 1, part(1))
  await bridge.server.stop()
  const settings = join(data, 'config.json')
  writeFileSync(settings, JSON.stringify(isToObjects ? {} : objects))
  const flags = isToObjects
    ? Object.entries(objects).map(([name, value]) => `--${name.replaceAll('_', '-')}=${value}`)
    : ['--packages=folder']
  const isThere = () =>
    ((JSON.parse(readFileSync(settings, 'utf8')) as { packages?: string }).packages ?? 'folder') ===
    (isToObjects ? objects.packages : 'folder')

  const files = { whole: whole.id, begun: begun.id }
  let kills = 0
  for (let killAt = 1; !isThere(); killAt += stride) {
    if (await moved(data, flags, killAt)) break
    kills += 1
    await requireServed(bridge, files)
  }
  expect(kills).toBeGreaterThan(2)
  expect(isThere()).toBe(true)
  await requireServed(bridge, files)
})
