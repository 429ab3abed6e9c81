/**
 * The server is killed inside a commit: at the Nth write to the WAL, and at its Nth sync.
 *
 * Every run covers two writes and one sync; BRIDGE_KILLS=200 covers the first 200 writes and two syncs.
 * Reliability §3.1 F2.
 */
import { expect, test } from 'vitest'
import { databasePath } from '../../server/storage/data-folder.ts'
import { sqliteOnly } from '../support/one-store.ts'
import type { ServerProcess } from '../support/process.ts'
import { attach, canTrace } from '../support/strace.ts'
import { killRepeatedly, type Strike } from './lab/kills.ts'

sqliteOnly('test/faults/postgres/restart.test.ts')

const kills = Number(process.env.BRIDGE_KILLS ?? 0)
const writes = kills === 0 ? [1, 20] : Array.from({ length: kills }, (_, index) => index + 1)
const syncs = kills === 0 ? [1] : [1, 2]

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
  `a server killed at ${writes.length + syncs.length} moments inside a commit loses no answered write`,
  { timeout: 300_000 + writes.length * 20_000 },
  async () => {
    const strikes = [
      ...writes.map((nth) => at('pwrite64', nth)),
      ...syncs.map((nth) => at('fsync,fdatasync', nth)),
    ]
    const { wrong, operations } = await killRepeatedly({ strikes, writers: 8, seed: 1, answers: 50 })
    expect(wrong).toEqual([])
    expect(operations.filter(({ outcome }) => outcome === 'info').length).toBeGreaterThanOrEqual(
      strikes.length,
    )
  },
)
