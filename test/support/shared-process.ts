/**
 * Vitest's set-up of each test file that shares its process with other files.
 *
 * A file fails when it leaves the state of its process changed, or a handle open: a server, a socket, a child, a timer.
 */
import 'conf'
import { afterAll, beforeAll, vi } from 'vitest'
import { standardError } from '../../server/log-stream.ts'
import {
  changesSince,
  type Handles,
  openedSince,
  openHandles,
  type State,
  stateOfProcess,
} from './process-state.ts'
import './process.ts'
import { lastOf } from './remains.ts'

// This, `conf` and `process.ts` begin to listen to their process when they are first used: before the first file.
standardError()

let state: State
let handles: Handles

beforeAll(() => {
  state = stateOfProcess()
  handles = openHandles()
})

afterAll(async () => {
  // Vitest takes these back before each test, so those of the last test are still there.
  vi.restoreAllMocks()
  vi.unstubAllEnvs()
  vi.unstubAllGlobals()
  const changed = changesSince(state)
  // A connection that was closed needs a moment on its other side.
  const open = await lastOf(() => openedSince(handles))
  const problems = [
    ...(changed.length > 0 ? [`changes ${changed.join(', ')} of its process`] : []),
    ...(open.length > 0 ? [`leaves open ${open.join(', ')}`] : []),
  ]
  if (problems.length > 0) throw new Error(`this file ${problems.join(', and ')}`)
})
