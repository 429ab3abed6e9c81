/** A lock of the profile on Node 22, which prints a warning when `node:sqlite` is loaded. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'

const lock = new URL('../../sdk/storage/lock.ts', import.meta.url).href
const sqliteWarning = 'SQLite is an experimental feature and might change at any time'

/** Loads the module as Node 22 does, with two more warnings at the same time, then takes a lock. */
const script = `
const load = process.getBuiltinModule
process.getBuiltinModule = (name) => {
  process.emitWarning(${JSON.stringify(sqliteWarning)}, 'ExperimentalWarning')
  process.emitWarning('Another feature is experimental', 'ExperimentalWarning')
  process.emitWarning('SQLite is old', 'DeprecationWarning', 'DEP9')
  return load(name)
}
const { takeLock } = await import(${JSON.stringify(lock)})
const held = await takeLock(process.argv[1])
process.stdout.write(String(held !== undefined))
held?.release()
process.emitWarning(${JSON.stringify(sqliteWarning)}, 'ExperimentalWarning')
`

test('taking a lock hides the warning that SQLite is experimental, and no other warning', () => {
  const folder = mkdtempSync(join(tmpdir(), 'bridge-lock-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ['--input-type=module', '-e', script, join(folder, 'lock')],
    { encoding: 'utf8' },
  )
  expect(stdout).toBe('true')
  // The last warning is the caller's own, after the lock was taken.
  expect(stderr.match(/\w+Warning: .*/g)).toEqual([
    'ExperimentalWarning: Another feature is experimental',
    'DeprecationWarning: SQLite is old',
    `ExperimentalWarning: ${sqliteWarning}`,
  ])
})
