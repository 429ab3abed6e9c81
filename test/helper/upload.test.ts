/** Receiving a file: parts, retries, publishing. Spec §3, §4.5. */

import { randomBytes } from 'node:crypto'
import {
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { startHelper } from '../../helper/main.ts'
import { Folder } from '../../sdk/parts/folder.ts'
import { PartStore } from '../../sdk/parts/part-store.ts'
import { RawConnection } from '../support/raw-client.ts'
import { readAnswer, refusal, request } from './calls.ts'
import { freshToken, manifestOf, Place, partOf, sha256 } from './files.ts'
import { start, startWith, type TestHelper } from './test-helper.ts'

const bytes = randomBytes(3500)
let helper: TestHelper

beforeEach(async () => {
  helper = await startWith(bytes, { mode: 'upload', transferId: 'one' })
})
afterEach(() => helper.close())

const destination = () => helper.place.inRoot('payload.bin')

test('the answer to a part has its measured length, its measured hash and a duplicate flag', async () => {
  const answer = JSON.parse((await helper.put(1)).body.toString())
  expect(answer).toEqual({
    index: 1,
    size: 1000,
    sha256: sha256(bytes.subarray(1000, 2000)),
    duplicate: false,
  })
  expect(JSON.parse((await helper.put(1)).body.toString())).toEqual({ ...answer, duplicate: true })
})

test('the status has digest, size, expiry, verification and committed parts, and nothing else of the folder', async () => {
  await helper.putAll(2, 0)
  const { manifest_digest, manifest_size, expires_at, ...rest } = await helper.status()
  const text = readFileSync(join(helper.place.folder, 'manifest.json'))
  expect({ manifest_digest, manifest_size }).toEqual({
    manifest_digest: sha256(text),
    manifest_size: text.length,
  })
  expect(expires_at).toBe(helper.running.readiness.expires_at)
  expect(rest).toEqual({
    transfer_id: 'one',
    mode: 'upload',
    size: 3500,
    sha256: sha256(bytes),
    verified: false,
    committed_parts: [0, 2],
  })
})

test('all parts, in any order, become the file, and a repeated finalize checks it again', async () => {
  await helper.putAll(3, 1, 0, 2)
  const answer = await helper.finalize()
  expect(JSON.parse(answer.body.toString())).toEqual({ verified: true, size: 3500, sha256: sha256(bytes) })
  expect(readFileSync(destination())).toEqual(bytes)
  expect(statSync(destination()).mode & 0o777).toBe(0o600)
  expect(readdirSync(helper.place.root)).toEqual(['payload.bin'])
  expect((await helper.status()).verified).toBe(true)
  expect((await helper.finalize()).status).toBe(200)
  expect(JSON.parse((await helper.put(2)).body.toString())).toMatchObject({ duplicate: true })
  expect(refusal(await helper.put(2, randomBytes(1000)))).toEqual([409, 'part_conflict'])

  writeFileSync(destination(), randomBytes(3500))
  expect(refusal(await helper.finalize())).toEqual([409, 'file_changed'])
})

test('finalize before all parts have arrived publishes nothing', async () => {
  expect(refusal(await helper.finalize())).toEqual([409, 'parts_missing'])
  await helper.putAll(0, 1, 2)
  expect(refusal(await helper.finalize())).toEqual([409, 'parts_missing'])
  expect(existsSync(destination())).toBe(false)
})

test('wrong bytes are refused, and a conflicting retry keeps the good part', async () => {
  expect(refusal(await helper.put(0, randomBytes(1000)))).toEqual([422, 'hash_mismatch'])
  expect((await helper.status()).committed_parts).toEqual([])
  await helper.putAll(0)
  expect(refusal(await helper.put(0, randomBytes(1000)))).toEqual([409, 'part_conflict'])
  await helper.putAll(1, 2, 3)
  expect((await helper.finalize()).status).toBe(200)
  expect(readFileSync(destination())).toEqual(bytes)
})

describe('a refused part leaves no bytes in the folder and does not affect other parts, when', () => {
  const isIn = (place: Place, some: Buffer): boolean =>
    readdirSync(place.root).some((name) => readFileSync(place.inRoot(name)).includes(some.subarray(0, 64)))

  test('it has other bytes', async () => {
    await helper.putAll(0, 2)
    const wrong = randomBytes(1000)
    expect(refusal(await helper.put(1, wrong))).toEqual([422, 'hash_mismatch'])
    expect(isIn(helper.place, wrong)).toBe(false)
    expect(isIn(helper.place, bytes.subarray(2000, 3000))).toBe(true)
    await helper.putAll(1, 3)
    expect((await helper.finalize()).status).toBe(200)
    expect(readFileSync(destination())).toEqual(bytes)
  })

  const size = 3 * 2 ** 20
  const large = randomBytes(size)
  const pace = { progressBytes: size, progressMs: 500 }
  const startLarge = (tuning: object = {}) =>
    startWith(Buffer.concat([large, large]), { mode: 'upload', partSize: size, ...tuning })

  /** Sends two of three megabytes, and waits until some are in the folder. */
  async function mostOf({ port, token, place }: TestHelper, body: Buffer) {
    const call = request({ method: 'PUT', target: '/v1/parts/0', token, body })
    const connection = new RawConnection(port).send(call.subarray(0, -(2 ** 20)))
    await expect.poll(() => isIn(place, body)).toBe(true)
    return connection
  }

  test('it has other bytes and several megabytes', async () => {
    const receiving = await startLarge()
    expect((await receiving.put(1)).status).toBe(200)
    expect(refusal(await receiving.put(0, randomBytes(size)))).toEqual([422, 'hash_mismatch'])
    const { staged } = PartStore.namesOf(receiving.manifest.transfer_id)
    const whole = readFileSync(receiving.place.inRoot(staged))
    expect(whole.equals(Buffer.concat([Buffer.alloc(size), large]))).toBe(true)
    await receiving.close()
  })

  test('it arrived too slowly', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    onTestFinished(() => void vi.useRealTimers())
    const receiving = await startLarge({ pace })
    const connection = await mostOf(receiving, large)
    const answer = readAnswer(connection)
    // While the disk takes the bytes, the connection is paused and not slow. So one interval may be too few.
    let isAnswered = false
    void answer.finally(() => {
      isAnswered = true
    })
    while (!isAnswered) {
      vi.advanceTimersByTime(pace.progressMs)
      await sleep(20)
    }
    expect(refusal(await answer)).toEqual([408, 'too_slow'])
    expect(isIn(receiving.place, large)).toBe(false)
    await receiving.close()
  })

  test('its connection broke', async () => {
    const receiving = await startLarge()
    const connection = await mostOf(receiving, large)
    connection.leave()
    await expect.poll(() => isIn(receiving.place, large)).toBe(false)
    // The part is released after its bytes are deleted; until then it counts as being received.
    await expect.poll(async () => (await receiving.put(0)).status).toBe(200)
    await receiving.close()
  })

  test('the helper ended', async () => {
    const receiving = await startLarge()
    const connection = await mostOf(receiving, large)
    await receiving.running.stop()
    expect(isIn(receiving.place, large)).toBe(false)
    connection.leave()
    await receiving.close()
  })
})

test('an existing file of the name is never overwritten, at whichever step it appears', async () => {
  for (const step of [0, 2, 4]) {
    writeFileSync(destination(), `mine ${step}`)
    await helper.putAll(...[0, 1, 2, 3].slice(0, step))
    await helper.putAll(...[0, 1, 2, 3].slice(step))
    expect(refusal(await helper.finalize())).toEqual([409, 'destination_exists'])
    expect(readFileSync(destination(), 'utf8')).toBe(`mine ${step}`)
  }
  rmSync(destination())
  expect((await helper.finalize()).status).toBe(200)
})

test('a helper that ends waits for a file that has its name already, and leaves it alone and with one link', async () => {
  await helper.putAll(0, 1, 2, 3)
  const held = Promise.withResolvers<void>()
  const sync = vi.spyOn(Folder.prototype, 'sync').mockImplementationOnce(() => held.promise)
  const answer = helper.finalize()
  await expect.poll(() => sync.mock.calls.length).toBe(1)
  expect(existsSync(destination())).toBe(true)
  const stopped = helper.running.stop()
  expect((await answer).status).toBe(0)
  // A helper that does not wait for the folder has ended by then.
  await Promise.race([stopped, sleep(500)])
  held.resolve()
  await stopped
  expect(readdirSync(helper.place.root)).toEqual(['payload.bin'])
  expect(statSync(destination()).nlink).toBe(1)
})

test.each([
  ['a link', () => symlinkSync('/etc/passwd', destination())],
  ['a dangling link', () => symlinkSync(join(helper.place.folder, 'victim'), destination())],
  ['a folder', () => mkdirSync(destination())],
  [
    'a hard link to the same bytes',
    () => {
      writeFileSync(join(helper.place.folder, 'twin'), bytes)
      linkSync(join(helper.place.folder, 'twin'), destination())
    },
  ],
])('%s under the name is not followed and stays', async (_name, plant) => {
  await helper.putAll(0, 1, 2, 3)
  plant()
  const before = lstatSync(destination()).ino
  expect(refusal(await helper.finalize())).toEqual([409, 'destination_exists'])
  expect(lstatSync(destination()).ino).toBe(before)
  expect(existsSync(join(helper.place.folder, 'victim'))).toBe(false)
})

test('a folder that replaces the root receives nothing', async () => {
  await helper.putAll(0, 1)
  const moved = join(helper.place.folder, 'moved')
  renameSync(helper.place.root, moved)
  mkdirSync(helper.place.root)
  await helper.putAll(2, 3)
  expect((await helper.finalize()).status).toBe(200)
  expect(readdirSync(helper.place.root)).toEqual([])
  expect(readFileSync(join(moved, 'payload.bin'))).toEqual(bytes)
})

test('a file that does not match its manifest as a whole is never published', async () => {
  const place = new Place()
  const manifest = { ...manifestOf(bytes, { mode: 'upload' }), sha256: sha256('other') }
  const lying = await start(place, manifest, bytes)
  await lying.putAll(0, 1, 2, 3)
  expect(refusal(await lying.finalize())).toEqual([422, 'hash_mismatch'])
  expect(existsSync(place.inRoot('payload.bin'))).toBe(false)
  await lying.close()
})

test('parts of another manifest with the same transfer_id are refused at the start, and stay', async () => {
  await helper.putAll(0)
  await helper.running.stop()
  const other = manifestOf(randomBytes(3500), { mode: 'upload', transferId: 'one' })
  await expect(start(helper.place, other, bytes)).rejects.toMatchObject({ code: 'manifest_changed' })
  helper = await start(helper.place, helper.manifest, bytes)
  expect((await helper.status()).committed_parts).toEqual([0])
})

test('another transfer in the same folder is not affected', async () => {
  await helper.putAll(0, 1)
  const content = randomBytes(1500)
  const manifest = manifestOf(content, { mode: 'upload', transferId: 'two', filename: 'other.bin' })
  const other = await start(helper.place, manifest, content)
  await other.putAll(0, 1)
  expect((await other.finalize()).status).toBe(200)
  await other.running.stop()
  expect((await helper.status()).committed_parts).toEqual([0, 1])
  await helper.putAll(2, 3)
  expect((await helper.finalize()).status).toBe(200)
})

test('a second helper for the same transfer and folder does not start', async () => {
  await expect(start(helper.place, helper.manifest, bytes)).rejects.toMatchObject({ code: 'transfer_in_use' })
})

test.each(['My notes.txt', '.gitignore', '.bridge-one.staged'])(
  'a file named %j gets its name',
  async (filename) => {
    const named = await startWith(bytes, { mode: 'upload', transferId: 'one', filename })
    await named.putAll(0, 1, 2, 3)
    expect((await named.finalize()).status).toBe(200)
    expect(readdirSync(named.place.root)).toEqual([filename])
    expect(readFileSync(named.place.inRoot(filename))).toEqual(bytes)
    await named.close()
  },
)

test('an empty file is one empty part', async () => {
  const empty = await startWith(Buffer.alloc(0), { mode: 'upload' })
  expect((await empty.put(0)).status).toBe(200)
  expect((await empty.finalize()).status).toBe(200)
  expect(readFileSync(empty.place.inRoot('payload.bin'))).toHaveLength(0)
  await empty.close()
})

test('a root that is a link, a file, or missing stops the start', async () => {
  const { place } = helper
  const path = place.manifest(manifestOf(bytes, { mode: 'upload' }))
  symlinkSync(place.root, join(place.folder, 'link'))
  for (const root of ['link', 'manifest.json', 'nothing']) {
    const options = {
      manifest: path,
      root: join(place.folder, root),
      port: 0,
      ttlSeconds: 9,
      maxBytes: 9999,
      token: freshToken(),
    }
    await expect(startHelper(options)).rejects.toMatchObject({ code: 'root_unusable' })
  }
  expect(partOf(bytes, helper.manifest, 0)).toHaveLength(1000)
})
