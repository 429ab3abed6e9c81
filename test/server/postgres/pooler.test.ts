/**
 * A node whose connections go through PgBouncer. Runs with `BRIDGE_TEST_STORE=postgres`, where PgBouncer is
 * installed.
 */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readConfig } from '../../../server/config.ts'
import { PostgresConnection } from '../../../server/database/postgres/connection.ts'
import { learnPooling } from '../../../server/database/postgres/pooler.ts'
import { type RunningServer, startServer } from '../../../server/server.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { untilPeers } from '../../support/nodes.ts'
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

    test.each([1, 2, 3])(
      'the pooler is recognised each time while %i other clients use it',
      async (clients) => {
        const settings = { url: pooler.url }
        const connection = await PostgresConnection.open(settings)
        let done = false
        const others = Array.from({ length: clients }, async () => {
          const other = await PostgresConnection.open(settings)
          while (!done) await other.query({ text: 'SELECT 1' })
          await other.close()
        })
        const seen: [string, boolean | undefined][] = []
        for (let attempt = 0; attempt < 30; attempt++) {
          const learnt: { url: string; forgetsNames?: boolean } = { url: pooler.url }
          seen.push([await learnPooling(connection, learnt), learnt.forgetsNames])
        }
        done = true
        await Promise.all([...others, connection.close()])
        expect(seen).toEqual(seen.map(() => [mode, mode === 'transaction' ? true : undefined]))
      },
    )
  },
)

describe.skipIf(!isOnPostgres || !hasPooler)('a node behind a pooler of transactions', () => {
  const data = isOnPostgres ? mkdtempSync(join(tmpdir(), 'bridge-')) : ''
  const direct = () => storeSettings(data).database ?? ''
  const log: string[] = []
  let pooler: Pooler
  let bridge: TestBridge
  let later: RunningServer | undefined

  beforeAll(async () => {
    pooler = await startPooler(direct(), 'transaction')
    const settings = { database: pooler.url, log_level: 'warn' }
    bridge = await startBridge({ data, settings, logTo: { write: (line) => log.push(line) } })
  })
  afterAll(async () => {
    await later?.stop()
    await bridge.close()
    await pooler.close()
  })

  const peers = async (url: string) =>
    ((await (await fetch(`${url}/api/ready`)).json()) as { peers: string }).peers
  const startWith = (listen: string) => {
    const quiet = { port: '0', reserve_bytes: '0', log_level: 'silent' }
    const flags = { data, ...quiet, database: pooler.url, database_listen_url: listen }
    return startServer(readConfig(flags, {}))
  }

  test('asks for changes without database_listen_url, and says so', async () => {
    await expect.poll(() => log.join('')).toContain('database_listen_url can name a direct way')
    expect(await peers(bridge.url)).toBe('polled')
    await bridge.server.stop()
  })

  test('refuses a direct way to another database', async () => {
    const other = new URL(direct())
    other.pathname = '/postgres'
    await expect(startWith(other.href)).rejects.toThrow('leads to another database than database does')
  })

  test('polls while the direct way leads nowhere, and hears others by one that leads to the database', async () => {
    const nowhere = new URL(direct())
    nowhere.port = '1'
    later = await startWith(nowhere.href)
    expect(await peers(later.url)).toBe('polled')
    await later.stop()
    later = await startWith(direct())
    await untilPeers(later, 'notified')
  })
})

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

test.skipIf(!isOnPostgres || !hasPooler).each([1, 2])(
  'a pooler of transactions with %i server connections is recognised',
  async (size) => {
    const only = [`default_pool_size = ${size}`]
    const pooler = await startPooler(process.env.BRIDGE_TEST_POSTGRES ?? '', 'transaction', only)
    const settings: { url: string; forgetsNames?: boolean } = { url: pooler.url }
    const connection = await PostgresConnection.open(settings)
    expect(await learnPooling(connection, settings)).toBe('transaction')
    expect(settings.forgetsNames).toBe(true)
    await connection.close()
    await pooler.close()
  },
)

test.skipIf(!isOnPostgres)('a direct connection is recognised', async () => {
  const settings = { url: process.env.BRIDGE_TEST_POSTGRES ?? '' }
  const connection = await PostgresConnection.open(settings)
  expect(await learnPooling(connection, settings)).toBe('none')
  await connection.close()
})
