/**
 * Vitest's set-up of each test file: gives it a separate temporary folder.
 *
 * A file fails if it leaves anything in that folder, or a process that names it.
 */
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect } from 'vitest'
import { lastOf, processesOf } from './remains.ts'

const { BRIDGE_TEST_DISK: disk = '', BRIDGE_TEST_MEMORY: memory = '' } = process.env
const { testPath } = expect.getState()
if (testPath === undefined) throw new Error('Vitest does not name the file')
const folder = mkdtempSync(join(testPath.includes('/test/faults/') ? disk : memory, 'f-'))
// Some tests start programs as another user.
chmodSync(folder, 0o755)
process.env.TMPDIR = folder

afterAll(async () => {
  try {
    // Killed processes and running removals need a moment to finish.
    const left = await lastOf(() => [...readdirSync(folder), ...processesOf(folder)])
    if (left.length > 0) throw new Error(`this file leaves behind: ${left.join(', ')}`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
