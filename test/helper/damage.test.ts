/** Staged files that change outside the helper: damaged, cut, swapped, or replaced by a link. Spec §3, §4.5. */

import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { PartStore } from '../../sdk/parts/part-store.ts'
import { refusal } from './calls.ts'
import { start, startWith, type TestHelper } from './test-helper.ts'

const bytes = randomBytes(3500)
let helper: TestHelper

beforeEach(async () => {
  helper = await startWith(bytes, { mode: 'upload', transferId: 'one' })
})
afterEach(() => helper.close())

const staged = () => helper.place.inRoot(PartStore.namesOf('one').staged)
const record = () => helper.place.inRoot(PartStore.namesOf('one').record)
const destination = () => helper.place.inRoot('payload.bin')

describe('a restart counts only the parts whose bytes are correct', () => {
  const damage: [string, () => void, number[]][] = [
    ['nothing happened', () => {}, [0, 1, 3]],
    ['a part was torn', () => overwrite(staged(), 1200, randomBytes(300)), [0, 3]],
    ['a part was zeroed', () => overwrite(staged(), 0, Buffer.alloc(1000)), [1, 3]],
    ['the file was cut', () => truncateSync(staged(), 1500), [0]],
    ['the file was extended', () => truncateSync(staged(), 5000), [0, 1, 3]],
    ['the file is gone', () => rmSync(staged()), []],
    [
      'parts were swapped',
      () => {
        const all = readFileSync(staged())
        overwrite(staged(), 0, all.subarray(1000, 2000))
        overwrite(staged(), 1000, all.subarray(0, 1000))
      },
      [3],
    ],
    ['the record is gone', () => rmSync(record()), []],
    ['the record was zeroed', () => writeFileSync(record(), Buffer.alloc(192)), []],
    ['the record was torn', () => truncateSync(record(), 64 + 32 + 7), [0]],
    ['the record was extended', () => truncateSync(record(), 500), [0, 1, 3]],
    [
      'its slots were swapped',
      () => {
        const all = readFileSync(record())
        overwrite(record(), 64, all.subarray(96, 128))
        overwrite(record(), 96, all.subarray(64, 96))
      },
      [3],
    ],
    [
      'it lists a part that was never sent',
      () => overwrite(record(), 64 + 64, readFileSync(record()).subarray(64, 96)),
      [0, 1, 3],
    ],
  ]

  test.each(damage)('%s', async (_name, harm, committed) => {
    await helper.putAll(0, 1, 3)
    await helper.running.stop()
    harm()
    helper = await start(helper.place, helper.manifest, bytes)
    expect((await helper.status()).committed_parts).toEqual(committed)
    await helper.putAll(...[0, 1, 2, 3].filter((index) => !committed.includes(index)))
    expect((await helper.finalize()).status).toBe(200)
    expect(readFileSync(destination())).toEqual(bytes)
  })
})

function overwrite(path: string, at: number, content: Buffer): void {
  const all = readFileSync(path)
  content.copy(all, at)
  writeFileSync(path, all)
}

test('a part that is damaged while the helper runs is found by finalize and can be sent again', async () => {
  await helper.putAll(0, 1, 2, 3)
  overwrite(staged(), 2100, Buffer.from('bad'))
  expect(refusal(await helper.finalize())).toEqual([409, 'parts_missing'])
  expect((await helper.status()).committed_parts).toEqual([0, 1, 3])
  await helper.putAll(2)
  expect((await helper.finalize()).status).toBe(200)
  expect(readFileSync(destination())).toEqual(bytes)
})

test('bytes added after the last part are not published', async () => {
  await helper.putAll(0, 1, 2, 3)
  truncateSync(staged(), 4000)
  expect((await helper.finalize()).status).toBe(200)
  expect(readFileSync(destination())).toEqual(bytes)
})

test('after a crash between the link and the end, the published file is found verified', async () => {
  await helper.putAll(0, 1, 2, 3)
  await helper.running.stop()
  linkSync(staged(), destination())
  helper = await start(helper.place, helper.manifest, bytes)
  expect(await helper.status()).toMatchObject({ verified: true, committed_parts: [0, 1, 2, 3] })
  expect((await helper.finalize()).status).toBe(200)
  expect(readdirSync(helper.place.root)).toEqual(['payload.bin'])
  expect(statSync(destination()).nlink).toBe(1)
})

test.each([
  ['a link', (path: string) => symlinkSync('/etc/passwd', path)],
  ['a dangling link', (path: string) => symlinkSync('/nonexistent/victim', path)],
  [
    'a second name of a file',
    (path: string) => {
      writeFileSync(join(helper.place.folder, 'victim'), 'mine')
      linkSync(join(helper.place.folder, 'victim'), path)
    },
  ],
  ['a FIFO', (path: string) => spawnSync('mkfifo', [path])],
  ['a folder', (path: string) => mkdirSync(path)],
])('%s in the place of the parts stops the start, and is not changed', async (_name, plant) => {
  await helper.putAll(0)
  await helper.running.stop()
  for (const path of [staged, record]) {
    const saved = `${path()}.saved`
    renameSync(path(), saved)
    plant(path())
    await expect(start(helper.place, helper.manifest, bytes)).rejects.toMatchObject({ code: 'unsafe_file' })
    rmSync(path(), { recursive: true })
    rmSync(join(helper.place.folder, 'victim'), { force: true })
    renameSync(saved, path())
  }
  expect(readFileSync('/etc/passwd', 'utf8')).toMatch(/^root/)
})

test('a file planted after the start is not written through', async () => {
  symlinkSync(join(helper.place.folder, 'victim'), staged())
  expect(refusal(await helper.put(0))).toEqual([409, 'unsafe_file'])
  expect(existsSync(join(helper.place.folder, 'victim'))).toBe(false)
})
