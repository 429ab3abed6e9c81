/** A node in the process of a test that stops the time of its timers, or lets it pass: it serves. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { PostgresConnection } from '../../../server/database/postgres/connection.ts'
import { startBridge } from '../../support/bridge.ts'
import {
  databaseUrl,
  dropDatabase,
  isOnPostgres,
  makeEmptyDatabase,
  onDatabase,
} from '../../support/postgres.ts'

describe.skipIf(!isOnPostgres)('a node whose process stops the time of timeouts', () => {
  test('beats while the time stands still, and afterwards', async () => {
    const bridge = await startBridge()
    onTestFinished(() => bridge.close())
    const beats = () =>
      onDatabase(bridge.data, async (client) => {
        const { rows } = await client.query<{ beat: string }>('SELECT beat FROM nodes')
        return Number(rows[0]?.beat)
      })
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const before = await beats()
    await expect.poll(beats).toBeGreaterThan(before + 2)
    vi.useRealTimers()
    const later = await beats()
    await expect.poll(beats).toBeGreaterThan(later + 1)
  })

  test('keeps a statement that is under way while the time of intervals passes', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    onTestFinished(() => void vi.useRealTimers())
    const data = await mkdtemp(join(tmpdir(), 'bridge-'))
    onTestFinished(() => rm(data, { recursive: true }))
    await makeEmptyDatabase(data)
    onTestFinished(() => dropDatabase(data))
    const connection = await PostgresConnection.open({ url: databaseUrl(data) })
    onTestFinished(() => connection.close())
    const asked = connection.query({ text: 'SELECT pg_sleep(0.2)' })
    vi.advanceTimersByTime(60_000)
    expect(await asked).toMatchObject({ count: 1 })
  })
})
