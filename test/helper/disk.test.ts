/** A full disk, on a small separate file system; only root may mount one. */
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, expect, test } from 'vitest'
import { Folder } from '../../sdk/parts/folder.ts'
import { PartStore } from '../../sdk/parts/part-store.ts'
import { RawConnection } from '../support/raw-client.ts'
import { readAnswer, request } from './calls.ts'
import { manifestOf, Place, sha256 } from './files.ts'
import { start } from './test-helper.ts'

const disk = mkdtempSync(join(tmpdir(), 'helper-disk-'))
const canMount = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', disk]).status === 0
afterAll(() => {
  if (canMount) spawnSync('umount', [disk])
  rmSync(disk, { recursive: true })
})

const MiB = 1024 * 1024
const free = (): number => statfsSync(disk).bavail * statfsSync(disk).bsize

/** Makes a place whose root is on the small disk. */
function placeOnDisk(): Place {
  const place = new Place()
  const root = join(disk, 'root')
  rmSync(root, { recursive: true, force: true })
  mkdirSync(root)
  return Object.assign(place, { root })
}

test.skipIf(!canMount)('free space for the whole file is checked before a byte is written', async () => {
  const place = placeOnDisk()
  const bytes = randomBytes(5 * MiB)
  const helper = await start(place, manifestOf(bytes, { mode: 'upload', partSize: MiB }), bytes)
  const before = free()
  const refused = await helper.put(0)
  expect([refused.status, refused.error]).toEqual([413, 'insufficient_space'])
  expect(free()).toBe(before)
  await helper.close()
})

test.skipIf(!canMount)(
  'if the disk fills up between parts, the helper refuses, keeps committed parts, and continues once there is space',
  async () => {
    const place = placeOnDisk()
    const bytes = randomBytes(3 * MiB)
    const helper = await start(place, manifestOf(bytes, { mode: 'upload', partSize: MiB }), bytes)
    expect((await helper.put(0)).status).toBe(200)
    const ballast = join(disk, 'ballast')
    writeFileSync(ballast, randomBytes(free() - MiB / 2))
    const refused = await helper.put(1)
    expect([refused.status, refused.error]).toEqual([413, 'insufficient_space'])
    expect((await helper.status()).committed_parts).toEqual([0])
    expect((await helper.finalize()).error).toBe('parts_missing')
    rmSync(ballast)
    await helper.putAll(1, 2)
    expect((await helper.finalize()).status).toBe(200)
    expect(readFileSync(place.inRoot('payload.bin')).equals(bytes)).toBe(true)
    await helper.close()
  },
)

test.skipIf(!canMount)(
  'if the disk fills up in the middle of a part, the code is the same and no file appears',
  async () => {
    const place = placeOnDisk()
    const bytes = randomBytes(3 * MiB)
    const manifest = manifestOf(bytes, { mode: 'upload', partSize: 3 * MiB })
    const helper = await start(place, manifest, bytes)
    // The check passes; then another program takes the space while the part arrives.
    const call = request({ method: 'PUT', target: '/v1/parts/0', token: helper.token, body: bytes })
    const connection = new RawConnection(helper.port).send(call.subarray(0, 300_000))
    await expect.poll(() => existsSync(place.inRoot(`.bridge-${manifest.transfer_id}..staged`))).toBe(true)
    writeFileSync(join(disk, 'ballast'), randomBytes(free() - MiB))
    const refused = await readAnswer(connection.send(call.subarray(300_000)))
    expect([refused.status, refused.error]).toEqual([413, 'insufficient_space'])
    rmSync(join(disk, 'ballast'))
    expect((await helper.put(0)).status).toBe(200)
    expect((await helper.finalize()).status).toBe(200)
    await helper.close()
  },
)

test('a store without space waits for clean-ups that free some, and refuses if they do not suffice', async () => {
  const place = new Place()
  const bytes = randomBytes(1000)
  const manifest = { ...manifestOf(bytes, { mode: 'upload' }), digest: sha256('a manifest') }
  const folder = await Folder.open(place.root)
  let spokenFor = Number.MAX_SAFE_INTEGER
  const store = await PartStore.open(folder, manifest, {
    spokenFor: async () => spokenFor,
    moreRoom: async () => {
      spokenFor -= Number.MAX_SAFE_INTEGER / 2
    },
  })
  const receive = () => store.receive(0, Readable.from([bytes]))
  await expect(receive()).rejects.toMatchObject({ code: 'insufficient_space' })
  expect(await receive()).toMatchObject({ duplicate: false })
  await store.close()
  await folder.close()
  place.remove()
})
