/**
 * Vitest's set-up of each test file that shares its process with other files.
 *
 * A file fails if it leaves the state of its process changed, or a handle open: a server, a socket, a child,
 * a timer.
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
import { startStoreThread } from './test-store.ts'

// This call, `conf` and `process.ts` add listeners to the process when they are first used. They run before
// the first file, so that the listeners count as present from the start.
standardError()
startStoreThread()

let state: State
let handles: Handles

beforeAll(() => {
  state = stateOfProcess()
  handles = openHandles()
})

afterAll(async () => {
  // Vitest restores these before each test, so those of the last test are still in place.
  vi.restoreAllMocks()
  vi.unstubAllEnvs()
  vi.unstubAllGlobals()
  const changed = changesSince(state)
  // The other side of a closed connection needs a moment.
  const open = await lastOf(() => openedSince(handles))
  const problems = [
    ...(changed.length > 0 ? [`changes ${changed.join(', ')} of its process`] : []),
    ...(open.length > 0 ? [`leaves open ${open.join(', ')}`] : []),
  ]
  if (problems.length > 0) throw new Error(`this file ${problems.join(', and ')}`)
})
