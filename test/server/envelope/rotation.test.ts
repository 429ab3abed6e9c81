/**
 * Replacing the envelope key: sealed secrets can be opened before, during and after, and the old key is
 * deleted at the end. Contract §9.
 */
import { randomBytes } from 'node:crypto'
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { rotateKey } from '../../../server/host/init.ts'
import { keyText, readEnvelopeKeys } from '../../../server/storage/envelope-keys.ts'
import { encrypt } from '../../../server/transfers/secrets.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { testConfig } from '../../support/config.ts'
import { act, fileOf, offer, told } from '../../support/files.ts'
import { exchange } from '../../support/http.ts'
import { withStore } from '../../support/test-store.ts'

let bridge: TestBridge
let path: string
let id: string

beforeAll(async () => {
  bridge = await startBridge()
  path = join(bridge.data, 'envelope.key')
  const { ada, ben } = bridge
  id = (await offer({ from: ada, to: ben, bytes: fileOf(10), fields: { mode: 'direct' } })).id
  await act(ben, id, 'accept')
})
afterAll(() => bridge.close())

const rotate = (lost = false) => rotateKey(testConfig(bridge.data), lost)

const secret = () => ({
  endpoint: 'https://tunnel.example',
  token: 'x'.repeat(43),
  expires_at: new Date(bridge.clock().getTime() + 600_000).toISOString(),
  helper_mode: 'download',
})

/** One key, and one secret sealed with it. */
beforeEach(async () => {
  rmSync(path, { recursive: true, force: true })
  rmSync(`${path}.partial`, { recursive: true, force: true })
  writeFileSync(path, keyText([randomBytes(32)]), { mode: 0o600 })
  expect((await act(bridge.ada, id, 'secret', secret())).status).toBe(200)
})

const read = () => bridge.ben.call({ target: `/api/v1/transfers/${id}/secret` })
const opens = async () => expect((await read()).json).toMatchObject({ endpoint: 'https://tunnel.example' })
const isReady = async () =>
  (await exchange(bridge.url, { method: 'GET', target: '/api/ready', headers: [] })).status === 200

test('beside a running server the secret stays the same, the key is new, and the old key is deleted', async () => {
  const [old] = readEnvelopeKeys(path)
  expect(await rotate()).toEqual({ key_file: path, resealed: 1, unopened: 0 })
  const [key, ...rest] = readEnvelopeKeys(path)
  expect([key.equals(old), rest]).toEqual([false, []])
  expect((statSync(path).mode & 0o777).toString(8)).toBe('600')
  await opens()
  expect((await act(bridge.ada, id, 'secret', secret())).status).toBe(200)
  await opens()
  expect(await isReady()).toBe(true)
})

/** The states that a kill can leave: the file has both keys, and the secret is sealed with either of them. */
test.each(['old', 'new'] as const)(
  'after a kill while the secret is sealed with the %s key, all secrets open and the next run finishes',
  async (sealedWith) => {
    const [old] = readEnvelopeKeys(path)
    const next = randomBytes(32)
    writeFileSync(path, keyText([next, old]))
    if (sealedWith === 'new') {
      const sealed = encrypt(next, id, JSON.stringify(secret()), randomBytes(12))
      withStore(bridge.data, (store) => store.prepare('UPDATE transfer_secrets SET sealed = ?').run(sealed))
    }
    writeFileSync(`${path}.partial`, 'half a k')
    await opens()
    expect(await isReady()).toBe(true)
    expect(await rotate()).toMatchObject({ resealed: 1, unopened: 0 })
    const keys = readEnvelopeKeys(path)
    expect(keys).toHaveLength(1)
    expect([old, next].some((key) => keys[0].equals(key))).toBe(false)
    await opens()
  },
)

test('two simultaneous rotations leave one key that opens everything', async () => {
  await Promise.all([rotate(), rotate()])
  expect(readEnvelopeKeys(path)).toHaveLength(1)
  await opens()
})

test('if the key file cannot be written, the old key stays in use', async () => {
  const before = readFileSync(path, 'utf8')
  mkdirSync(`${path}.partial`)
  await expect(rotate()).rejects.toMatchObject({
    name: 'ConfigError',
    message: expect.stringContaining('EISDIR'),
  })
  expect(readFileSync(path, 'utf8')).toBe(before)
  await opens()
})

test('a rotation without the key is refused, and a lost key is replaced only on explicit request', async () => {
  renameSync(path, `${path}.away`)
  await expect(rotate()).rejects.toMatchObject({ name: 'ConfigError' })
  expect(told(await read())).toEqual([503, 'unavailable'])
  expect(await rotate(true)).toMatchObject({ resealed: 0, unopened: 1 })
  expect(told(await read())).toEqual([404, 'not_found'])
  expect((await act(bridge.ada, id, 'secret', secret())).status).toBe(200)
  await opens()
})

test('secrets sealed with an unknown key are counted, left unchanged, and do not keep an old key', async () => {
  writeFileSync(path, keyText([randomBytes(32)]))
  chmodSync(path, 0o600)
  expect(await rotate()).toMatchObject({ resealed: 0, unopened: 1 })
  expect(readEnvelopeKeys(path)).toHaveLength(1)
})

test('an expired secret is not counted and keeps no old key', async () => {
  bridge.clock.advance(601)
  expect(told(await read())).toEqual([410, 'offer_expired'])
  expect(await rotate()).toMatchObject({ resealed: 0, unopened: 0 })
  expect(readEnvelopeKeys(path)).toHaveLength(1)
  expect(await rotate(true)).toMatchObject({ resealed: 0, unopened: 0 })
  expect(told(await read())).toEqual([410, 'offer_expired'])
})

test('a rotation seals every secret of the store again', () => {
  const tables = withStore(bridge.data, (store) =>
    store.tables().filter((table) => store.columnsOf(table).some((column) => column.includes('sealed'))),
  )
  expect(tables).toEqual(['transfer_secrets'])
})

test('a rotation is in the audit log without the key', async () => {
  await rotate()
  const sql = "SELECT details FROM audit WHERE kind = 'envelope_key.rotated' LIMIT 1"
  const details = withStore(bridge.data, (store) => store.prepare<string>(sql).pluck().get())
  expect(Object.keys(JSON.parse(details ?? '{}')).sort()).toEqual(['lost', 'resealed', 'unopened'])
})
