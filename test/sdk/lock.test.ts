/** A lock of the profile between processes, and within one. */
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { takeLock } from '../../sdk/storage/lock.ts'

const lock = new URL('../../sdk/storage/lock.ts', import.meta.url).href

const pathOfLock = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'bridge-lock-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return join(folder, 'lock')
}

/** Whether another process gets the lock. */
const isFree = (path: string): boolean => {
  const script = `const { takeLock } = await import(${JSON.stringify(lock)})
    process.stdout.write(String((await takeLock(process.argv[1])) !== undefined))`
  const args = ['--input-type=module', '-e', script, path]
  return spawnSync(process.execPath, args, { encoding: 'utf8' }).stdout === 'true'
}

test('a second try in the process that holds a lock leaves it to that process', async () => {
  const path = pathOfLock()
  const held = await takeLock(path)
  expect(await takeLock(path)).toBeUndefined()
  expect(isFree(path)).toBe(false)
  held?.release()
  expect(isFree(path)).toBe(true)
})

test('only its user can read the file, also one that others could read before', async () => {
  const path = pathOfLock()
  const modeOf = () => statSync(path).mode & 0o777
  ;(await takeLock(path))?.release()
  expect(modeOf()).toBe(0o600)
  writeFileSync(path, '')
  chmodSync(path, 0o644)
  ;(await takeLock(path))?.release()
  expect(modeOf()).toBe(0o600)
})
