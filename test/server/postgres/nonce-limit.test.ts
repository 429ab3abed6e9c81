/** The most nonces of one credential that PostgreSQL keeps. Runs with `BRIDGE_TEST_STORE=postgres`. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { limits } from '../../../sdk/contract/limits.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { testClock } from '../../support/clock.ts'
import { isOnPostgres, onDatabase } from '../../support/postgres.ts'
import { upkeep } from '../maintenance/upkeep.ts'

const most = limits.noncesPerCredential
const atOnce = 100

describe.skipIf(!isOnPostgres)('a credential', () => {
  let bridge: TestBridge
  beforeAll(async () => {
    const clock = testClock()
    bridge = await startBridge({ clock, monotonicMs: clock.elapsedMs })
  })
  afterAll(() => bridge?.close())

  /** Stores nonces of ada, as other nodes do. */
  const fill = (count: number) =>
    onDatabase(bridge.data, (client) =>
      client.query(
        "INSERT INTO nonces SELECT $1, decode(md5(random()::text || n), 'hex'), $2 FROM generate_series(1, $3) n",
        [bridge.ada.enrolled.credential_id, Math.floor(bridge.clock().getTime() / 1000), count],
      ),
    )
  const stored = () =>
    onDatabase(bridge.data, async (client) => {
      const count = 'SELECT 1 FROM nonces WHERE credential_id = $1'
      return (await client.query(count, [bridge.ada.enrolled.credential_id])).rowCount
    })
  const ask = () => bridge.ada.call({ target: '/api/v1/conversations' })

  test('with all nonces that it may have is refused, alone, until they have expired', async () => {
    await fill(most)
    const full = await stored()
    bridge = await bridge.restart()
    for (let n = 0; n < 3; n += 1) {
      const reply = await ask()
      expect([reply.status, reply.json]).toMatchObject([429, { error: 'rate_limited' }])
      expect(reply.headers['retry-after']).toBe('1')
      bridge.clock.advance(0.6)
    }
    expect(await stored()).toBe(full)
    expect((await bridge.ben.call({ target: '/api/v1/conversations' })).status).toBe(200)

    bridge.clock.advance(400)
    await upkeep(bridge.data, { clock: bridge.clock })
    expect(await stored()).toBe(0)
    // The node counts them again once a second.
    await expect.poll(async () => (await ask()).status).toBe(200)
  })

  test('that passes the limit at other nodes is found after a twentieth of it', async () => {
    await fill(most)
    let passed = 0
    while (passed <= most / 20 + atOnce) {
      const replies = await Promise.all(Array.from({ length: atOnce }, ask))
      const admitted = replies.filter(({ status }) => status === 200).length
      passed += admitted
      if (admitted < replies.length) break
    }
    expect((await ask()).status).toBe(429)
    expect(passed).toBeLessThanOrEqual(most / 20 + atOnce)
  })
})
