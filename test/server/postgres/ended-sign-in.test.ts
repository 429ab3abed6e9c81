/** An act of a person whose sign-in another node ends meanwhile. Runs with `BRIDGE_TEST_STORE=postgres`. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { isOnPostgres, onDatabase } from '../../support/postgres.ts'

describe.skipIf(!isOnPostgres)('an act that waits', () => {
  let bridge: TestBridge
  beforeAll(async () => {
    bridge = await startBridge()
  })
  afterAll(() => bridge?.close())

  /** Whether a statement waits for the row of another transaction. */
  const isWaiting = () =>
    onDatabase(bridge.data, async (client) => {
      const { rowCount } = await client.query(
        `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
          AND query LIKE 'update "owner_sessions"%'`,
      )
      return (rowCount ?? 0) > 0
    })
  const names = () =>
    onDatabase(bridge.data, async (client) => {
      const { rows } = await client.query<{ name: string }>("SELECT name FROM agents WHERE name = 'cleo'")
      return rows
    })

  test('for the end of its sign-in is refused and stores nothing', async () => {
    const { owner, project } = bridge
    const target = `/api/admin/projects/${project.id}/agents`
    await onDatabase(bridge.data, async (client) => {
      await client.query('BEGIN')
      await client.query("UPDATE owner_sessions SET ended_at = '2026-01-01T00:00:00.000Z'")
      const acting = owner.call({ target, body: { name: 'cleo' } })
      await vi.waitFor(async () => expect(await isWaiting()).toBe(true), { timeout: 60_000 })
      await client.query('COMMIT')
      const { status, json } = await acting
      expect([status, json]).toMatchObject([401, { error: 'owner_session_expired' }])
    })
    expect(await names()).toEqual([])
  })
})
