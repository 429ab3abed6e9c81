/**
 * The server dies inside a commit: at the Nth write of the log, and at its Nth sync.
 *
 * BRIDGE_KILLS=200 goes through the first 200 writes. Reliability §3.1 F2.
 */
import { expect, test } from 'vitest'
import { databasePath } from '../../server/host/data-folder.ts'
import type { ServerProcess } from '../support/process.ts'
import { killRepeatedly, type Strike } from './lab/kills.ts'
import { attach, canTrace } from './lab/strace.ts'

const kills = Number(process.env.BRIDGE_KILLS ?? 20)
const writes = kills === 20 ? [1, 2, 5, 20, 50] : Array.from({ length: kills }, (_, index) => index + 1)
const syncs = [1, 2]

const at =
  (calls: string, nth: number): Strike =>
  async (server: ServerProcess) => {
    const inject = `inject=${calls}:signal=SIGKILL:when=${nth}`
    const tracer = await attach(server.pid, [
      '-P',
      `${databasePath(server.data)}-wal`,
      '-e',
      inject,
      '-o',
      '/dev/null',
    ])
    const ending = await server.ended
    await tracer.detach()
    expect(ending.signal).toBe('SIGKILL')
  }

test.skipIf(!canTrace)(
  `a server that dies at ${writes.length + syncs.length} moments inside a commit loses nothing that was answered`,
  { timeout: 300_000 + writes.length * 10_000 },
  async () => {
    const strikes = [
      ...writes.map((nth) => at('pwrite64', nth)),
      ...syncs.map((nth) => at('fsync,fdatasync', nth)),
    ]
    const { wrong, operations } = await killRepeatedly({ strikes, writers: 8, seed: 1 })
    expect(wrong).toEqual([])
    expect(operations.filter(({ outcome }) => outcome === 'info').length).toBeGreaterThanOrEqual(
      strikes.length,
    )
  },
)
