/**
 * `bridge server rotate-key` on PostgreSQL, ended by a signal at each statement that it sends. Contract §9.
 */
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { hasKey, readEnvelopeKeys } from '../../../server/storage/envelope-keys.ts'
import { type DatabaseProxy, startProxy } from '../../server/postgres/proxy.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { act, fileOf, offer } from '../../support/files.ts'
import { postgresOnly } from '../../support/one-store.ts'
import { databaseUrl, onDatabase } from '../../support/postgres.ts'
import { TestHome } from '../../support/test-home.ts'

postgresOnly()

let bridge: TestBridge
let proxy: DatabaseProxy
let home: TestHome
let path: string
let id: string

beforeAll(async () => {
  bridge = await startBridge()
  path = join(bridge.data, 'envelope.key')
  proxy = await startProxy(databaseUrl(bridge.data))
  home = await TestHome.make()
  const { ada, ben } = bridge
  id = (await offer({ from: ada, to: ben, bytes: fileOf(10), fields: { mode: 'direct' } })).id
  await act(ben, id, 'accept')
  const secret = {
    endpoint: 'https://tunnel.example',
    token: 'x'.repeat(43),
    expires_at: new Date(bridge.clock().getTime() + 600_000).toISOString(),
    helper_mode: 'download',
  }
  expect((await act(ada, id, 'secret', secret)).status).toBe(200)
})
afterAll(async () => {
  await home?.remove()
  await proxy?.close()
  await bridge?.close()
})

interface Ending {
  readonly signal: NodeJS.Signals
  /** Number of the statement at which the program gets the signal. */
  readonly at: number
  /** Whether the database receives that statement. */
  readonly arrives: boolean
}

/** Runs the command once, with a signal if one is given. Its exit code is null after a kill. */
async function rotate(ending?: Ending) {
  const environment = { BRIDGE_DATABASE_URL: proxy.url }
  const { child, ended } = home.start(['server', 'rotate-key', '--data', bridge.data], { environment })
  const statements: string[] = []
  proxy.onStatement((text) => {
    statements.push(text)
    if (statements.length !== ending?.at) return true
    child.kill(ending.signal)
    return ending.arrives
  })
  const { code, stderr } = await ended
  return { code, stderr, statements }
}

/** The secret opens at the running node, and the key file has the key that the database has recorded. */
async function holds(): Promise<void> {
  const { json } = await bridge.ben.call({ target: `/api/v1/transfers/${id}/secret` })
  expect(json).toMatchObject({ endpoint: 'https://tunnel.example' })
  const { rows } = await onDatabase(bridge.data, (client) =>
    client.query<{ envelope_key_check: string }>('SELECT envelope_key_check FROM server'),
  )
  expect(hasKey(path, rows[0]?.envelope_key_check ?? '')).toBe(true)
}

const finished = { code: 0, stderr: '' }

test('after a kill at a statement the keys open everything, and the next rotation finishes', async () => {
  const { statements, ...outcome } = await rotate()
  expect(outcome).toEqual(finished)
  const numbers = statements.map((_, index) => index + 1)
  const commits = numbers.filter((number) => statements[number - 1]?.includes('COMMIT'))
  const [first = 0, last] = commits
  expect([commits.length, last]).toEqual([2, numbers.length])
  const few = [1, Math.ceil(first / 2), first - 1, first, first + 1, last]
  const kills = (process.env.BRIDGE_KILLS === undefined ? few : numbers).map((at) => ({ at, arrives: false }))
  // In the last two the program does not get the answer to its COMMIT.
  for (const kill of [...kills, ...commits.map((at) => ({ at, arrives: true }))]) {
    expect(await rotate({ signal: 'SIGKILL', at: kill.at ?? 0, arrives: kill.arrives })).toMatchObject({
      code: null,
    })
    await holds()
  }
  expect(await rotate()).toMatchObject(finished)
  expect(readEnvelopeKeys(path)).toHaveLength(1)
  await holds()
})

test('SIGTERM does not end a rotation before it has finished', async () => {
  const [before] = readEnvelopeKeys(path)
  expect(await rotate({ signal: 'SIGTERM', at: 2, arrives: true })).toMatchObject(finished)
  const keys = readEnvelopeKeys(path)
  expect([keys.length, keys[0].equals(before)]).toEqual([1, false])
  await holds()
})
