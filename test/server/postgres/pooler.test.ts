/**
 * A node whose connections go through PgBouncer. Runs with `BRIDGE_TEST_STORE=postgres`, where PgBouncer is
 * installed.
 */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { PostgresConnection } from '../../../server/database/postgres/connection.ts'
import { learnPooling } from '../../../server/database/postgres/pooler.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { isOnPostgres, storeSettings } from '../../support/postgres.ts'
import { openWait, untilListening } from '../../support/waits.ts'
import { hasPooler, type Pooler, startPooler } from './pooler.ts'

describe.skipIf(!isOnPostgres || !hasPooler).each(['session', 'transaction'] as const)(
  'a node behind PgBouncer with %s pooling',
  (mode) => {
    let pooler: Pooler
    let bridge: TestBridge
    const data = isOnPostgres ? mkdtempSync(join(tmpdir(), 'bridge-')) : ''

    beforeAll(async () => {
      pooler = await startPooler(storeSettings(data).database ?? '', mode)
      bridge = await startBridge({ data, settings: { database: pooler.url } })
    })
    afterAll(async () => {
      await bridge.close()
      await pooler.close()
    })

    test('wakes a wait with a signed send, and serves many requests at the same time', async () => {
      const { ada, ben } = bridge
      const conversation = await ada.conversationWith(ben.id)
      const wait = openWait(ben)
      await untilListening(bridge, ben)
      await ada.send(conversation, ben.id, 'through the pooler')
      expect((await wait.answer)?.body.messages).toMatchObject([{ body: 'through the pooler' }])
      await Promise.all(
        Array.from({ length: 20 }, async (_, index) => {
          await ada.send(conversation, ben.id, `message ${index}`)
          await ben.inbox()
        }),
      )
      expect((await fetch(`${bridge.url}/api/ready`)).status).toBe(200)
    })

    test('the pooler is recognised, and its server connections keep no setting of a transaction', async () => {
      const settings = { url: pooler.url }
      const connection = await PostgresConnection.open(settings)
      expect(await learnPooling(connection, settings)).toBe(mode)
      const { rows } = await connection.query<{ limit: string; lanes: string | null }>({
        text: "SELECT current_setting('statement_timeout') AS limit, nullif(current_setting('bridge.lanes', true), '') AS lanes",
      })
      expect(rows).toEqual([{ limit: '0', lanes: null }])
      await connection.close()
    })
  },
)

test.skipIf(!isOnPostgres || !hasPooler)(
  'the control: a pooler of transactions forgets a named statement',
  async () => {
    const pooler = await startPooler(process.env.BRIDGE_TEST_POSTGRES ?? '', 'transaction')
    const settings: { url: string; forgetsNames?: boolean } = { url: pooler.url }
    const connection = await PostgresConnection.open(settings)
    await learnPooling(connection, settings)
    await connection.close()
    await pooler.close()
    // PgBouncer from 1.21 can repeat named statements, which these settings do not allow.
    expect(settings.forgetsNames).toBe(true)
  },
)

test.skipIf(!isOnPostgres)('a direct connection is recognised', async () => {
  const settings = { url: process.env.BRIDGE_TEST_POSTGRES ?? '' }
  const connection = await PostgresConnection.open(settings)
  expect(await learnPooling(connection, settings)).toBe('none')
  await connection.close()
})
