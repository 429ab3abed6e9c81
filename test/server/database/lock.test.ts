import { rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { DataFolderLockedError, lockDataFolder } from '../../../server/database/sqlite/lock.ts'
import { startChild } from './child.ts'
import { temporaryFolder } from './store.ts'

test('a second server on a data folder is refused by name; killing the first frees the folder', async () => {
  const folder = temporaryFolder()
  const first = startChild('lock.ts', [folder])
  expect(await first.next()).toBe('locked')
  expect(() => lockDataFolder(folder)).toThrow(DataFolderLockedError)
  expect(() => lockDataFolder(folder)).toThrow(folder)
  await first.kill()
  lockDataFolder(folder).release()
})

test('another process can take a released lock', async () => {
  const folder = temporaryFolder()
  const first = startChild('lock.ts', [folder])
  expect(await first.next()).toBe('locked')
  first.say('release')
  expect(await first.next()).toBe('released')
  lockDataFolder(folder).release()
})

test('a refused attempt in the same process does not free the lock for another process', async () => {
  const folder = temporaryFolder()
  const lock = lockDataFolder(folder)
  expect(() => lockDataFolder(folder)).toThrow(DataFolderLockedError)
  const other = startChild('lock.ts', [folder])
  expect(await other.next()).toBe('refused')
  expect(await other.ended()).toBe(1)
  lock.release()
})

test('the garbage collector does not free a lock, even if it is unreferenced', async () => {
  const folder = temporaryFolder()
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  lockDataFolder(folder)
  for (let round = 0; round < 5; round += 1) {
    collect()
    await new Promise((resolve) => setImmediate(resolve))
  }
  const other = startChild('lock.ts', [folder])
  expect(await other.next()).toBe('refused')
})

test('a lock whose file was removed or replaced is not in place', () => {
  const folder = temporaryFolder()
  const lock = lockDataFolder(folder)
  expect(lock.isInPlace()).toBe(true)
  rmSync(join(folder, 'lock.db'))
  expect(lock.isInPlace()).toBe(false)
  const other = lockDataFolder(folder)
  expect([lock.isInPlace(), other.isInPlace()]).toEqual([false, true])
  lock.release()
  other.release()
})

test('only the owner can access the folder and the lock', () => {
  const folder = join(temporaryFolder(), 'data')
  const lock = lockDataFolder(folder)
  expect(statSync(folder).mode & 0o777).toBe(0o700)
  expect(statSync(join(folder, 'lock.db')).mode & 0o777).toBe(0o600)
  lock.release()
})
