/**
 * A node on PostgreSQL whose connections to the database are cut: each key has one effect, the process stays,
 * and it is ready again as soon as the database is. Runs with `BRIDGE_TEST_STORE=postgres`.
 */
import { randomUUID } from 'node:crypto'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Link } from '../../../server/database/postgres/link.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { ownerName, ownerPassword } from '../../support/owner.ts'
import { isOnPostgres, onDatabase, storeSettings } from '../../support/postgres.ts'
import { type DatabaseProxy, startProxy } from './proxy.ts'

describe.skipIf(!isOnPostgres)('a node on PostgreSQL', () => {
  let proxy: DatabaseProxy
  let bridge: TestBridge
  let conversation: string
  const data = isOnPostgres ? mkdtempSync(join(tmpdir(), 'bridge-')) : ''

  beforeAll(async () => {
    proxy = await startProxy(storeSettings(data).database ?? '')
    bridge = await startBridge({ data, settings: { database: proxy.url } })
    conversation = await bridge.ada.conversationWith(bridge.ben.id)
  })
  afterAll(async () => {
    await bridge.close()
    await proxy.close()
  })

  const stored = async (text: string): Promise<number> =>
    onDatabase(data, async (client) => {
      const { rowCount } = await client.query('SELECT 1 FROM messages WHERE body = $1', [text])
      return rowCount ?? 0
    })

  const audited = async (messageId: string): Promise<number> =>
    onDatabase(data, async (client) => {
      const { rowCount } = await client.query('SELECT 1 FROM audit WHERE subject_id = $1', [messageId])
      return rowCount ?? 0
    })

  /** Sends with one cut of the connection, and again with the same key. */
  async function sendTwice(text: string): Promise<void> {
    const key = randomUUID()
    const body = {
      conversation_id: conversation,
      recipient_agent_id: bridge.ben.id,
      type: 'note',
      body: text,
    }
    const first = await bridge.ada.call({ target: '/api/v1/messages', body, key })
    expect([200, 503]).toContain(first.status)
    const again = await bridge.ada.ok<{ message: { id: string } }>({ target: '/api/v1/messages', body, key })
    expect([await stored(text), await audited(again.message.id)]).toEqual([1, 1])
  }

  test.each(['before', 'answer'] as const)(
    'a connection that is cut at any statement of a send (%s) stores one message per key',
    async (when) => {
      let number = 0
      for (let wasCut = true; wasCut; ) {
        number += 1
        const cutsBefore = proxy.cuts()
        proxy.cutAtStatement(number, when)
        await sendTwice(`statement ${number}, ${when}`)
        wasCut = proxy.cuts() > cutsBefore
      }
      proxy.cutAtStatement(undefined, when)
      // BEGIN, the lane, the nonce, the reads of the agents, four inserts and more, the place of the lane, COMMIT.
      expect(number).toBeGreaterThan(10)
    },
  )

  test.each([
    ['BEGIN', 'before'],
    ['FOR UPDATE', 'before'],
    ['insert into "messages"', 'before'],
    ['insert into "messages"', 'answer'],
    ['insert into "audit"', 'answer'],
    ['COMMIT', 'before'],
    ['COMMIT', 'answer'],
  ] as const)('a connection that is cut at %s (%s) stores one message per key', async (words, when) => {
    const cutsBefore = proxy.cuts()
    proxy.cutAt(words, when)
    await sendTwice(`${words} ${when}`)
    expect(proxy.cuts()).toBe(cutsBefore + 1)
  })

  test('a COMMIT whose answer is lost is asked about, and the request succeeds', async () => {
    proxy.cutAt('COMMIT', 'answer')
    const sent = await bridge.ada.send(conversation, bridge.ben.id, 'asked about')
    expect(sent.id).toBeTruthy()
    expect(await stored('asked about')).toBe(1)
  })

  test('while the database is away, writes are 503 and the node is not ready; then it is again', async () => {
    proxy.shut()
    const body = { conversation_id: conversation, recipient_agent_id: bridge.ben.id, type: 'note', body: 'x' }
    const refused = await bridge.ada.call({ target: '/api/v1/messages', body })
    expect([refused.status, refused.json]).toMatchObject([503, { error: 'unavailable' }])
    const signIn = { name: ownerName, password: ownerPassword }
    const unsigned = await bridge.owner.call({ target: '/api/admin/session', body: signIn })
    expect([unsigned.status, unsigned.json]).toMatchObject([503, { error: 'unavailable' }])
    const ready = () => fetch(`${bridge.url}/api/ready`).then(({ status }) => status)
    expect(await ready()).toBe(503)
    proxy.open()
    const openedMs = performance.now()
    let refusedMs = 0
    const asks = async () => {
      const askedMs = performance.now() - openedMs
      const status = await ready()
      if (status !== 200) refusedMs = askedMs
      return status
    }
    await expect.poll(asks, { interval: 50 }).toBe(200)
    expect(refusedMs).toBeLessThan(2000)
    expect(await bridge.ada.send(conversation, bridge.ben.id, 'back again')).toBeTruthy()
  })

  test('questions that meet a broken connection at the same time open one in its place', async () => {
    const link = new Link({ url: proxy.url })
    const { connection: first } = await link.get()
    proxy.shut()
    await expect.poll(() => first.isBroken).toBe(true)
    proxy.open()
    const opened = await Promise.all(Array.from({ length: 8 }, () => link.get()))
    const connections = new Set(opened.map(({ connection }) => connection))
    for (const each of connections) await each.close()
    expect(connections.size).toBe(1)
  })
})
