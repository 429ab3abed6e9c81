/**
 * Vitest's set-up of each test file: gives it a separate temporary folder.
 *
 * A file fails if it leaves anything in that folder, or a process that names it.
 */
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { lastOf, processesOf } from './remains.ts'

const { BRIDGE_TEST_TEMPORARY: ofTheRun = '' } = process.env
const folder = mkdtempSync(join(ofTheRun, 'f-'))
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
