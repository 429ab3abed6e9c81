/**
 * Another program holds a snapshot of the database. The node goes on meanwhile, and removes old rows. Runs with
 * `BRIDGE_TEST_STORE=postgres`.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { maintain } from '../../../server/host/init.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { testConfig } from '../../support/config.ts'
import { isOnPostgres, onDatabase } from '../../support/postgres.ts'
import { daysAgo, tamper } from '../../support/tamper.ts'

describe.skipIf(!isOnPostgres)('a snapshot that another program holds', () => {
  let bridge: TestBridge
  beforeAll(async () => {
    bridge = await startBridge()
  })
  afterAll(() => bridge.close())

  test('delays no write, no read and no removal, and shows its own time', async () => {
    const { ada, ben, data } = bridge
    const conversation = await ada.conversationWith(ben.id)
    const { id } = await ada.send(conversation, ben.id, 'before')
    await ben.acknowledge(id)
    await onDatabase(data, async (reader) => {
      const bodies = async () => {
        const { rows } = await reader.query<{ body: string }>('SELECT body FROM messages ORDER BY id')
        return rows.map(({ body }) => body)
      }
      await reader.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
      expect(await bodies()).toEqual(['before'])
      tamper(data, (store) =>
        store
          .prepare('UPDATE messages SET created_at = @at, acknowledged_at = @at WHERE id = @id')
          .run({ id, at: daysAgo(91) }),
      )
      await maintain(testConfig(data), new AbortController().signal)
      for (const body of ['one', 'two']) await ada.send(conversation, ben.id, body)
      expect((await ben.inbox()).messages.map(({ body }) => body)).toEqual(['one', 'two'])
      expect((await fetch(`${bridge.url}/api/ready`)).status).toBe(200)
      expect(await bodies()).toEqual(['before'])
      await reader.query('COMMIT')
      expect(await bodies()).toEqual(['one', 'two'])
    })
  })
})
