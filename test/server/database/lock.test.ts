import { statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { DataFolderLocked, lockDataFolder } from '../../../server/database/lock.ts'
import { startChild } from './child.ts'
import { temporaryFolder } from './store.ts'

test('a second server on a data folder is refused by name; a kill frees it', async () => {
  const folder = temporaryFolder()
  const first = startChild('lock.ts', [folder])
  expect(await first.next()).toBe('locked')
  expect(() => lockDataFolder(folder)).toThrow(DataFolderLocked)
  expect(() => lockDataFolder(folder)).toThrow(folder)
  await first.kill()
  lockDataFolder(folder).release()
})

test('a lock that is released can be taken by another process', async () => {
  const folder = temporaryFolder()
  const first = startChild('lock.ts', [folder])
  expect(await first.next()).toBe('locked')
  first.say('release')
  expect(await first.next()).toBe('released')
  lockDataFolder(folder).release()
})

test('a refused attempt in the same process does not free the lock for another', async () => {
  const folder = temporaryFolder()
  const lock = lockDataFolder(folder)
  expect(() => lockDataFolder(folder)).toThrow(DataFolderLocked)
  const other = startChild('lock.ts', [folder])
  expect(await other.next()).toBe('refused')
  expect(await other.ended()).toBe(1)
  lock.release()
})

test('the folder and the lock are their owner’s alone', () => {
  const folder = join(temporaryFolder(), 'data')
  const lock = lockDataFolder(folder)
  expect(statSync(folder).mode & 0o777).toBe(0o700)
  expect(statSync(join(folder, 'lock.db')).mode & 0o777).toBe(0o600)
  lock.release()
})
