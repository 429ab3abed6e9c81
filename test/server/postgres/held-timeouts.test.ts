/** A node in the process of a test that stops the time of its timeouts: it stays a member, and serves. */
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { startBridge } from '../../support/bridge.ts'
import { isOnPostgres, onDatabase } from '../../support/postgres.ts'

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
})
