/**
 * The connection by which a node hears others: dropped packets, cuts, and notifications that a pooler
 * swallows. Runs with `BRIDGE_TEST_STORE=postgres`.
 */
import { randomUUID } from 'node:crypto'
import { afterEach, describe, expect, test } from 'vitest'
import { type BusTimes, NodeBus } from '../../../server/bus/bus.ts'
import { channelName, createChannel, hearsNotifications } from '../../../server/database/postgres/channel.ts'
import { PostgresConnection } from '../../../server/database/postgres/connection.ts'
import { isOnPostgres } from '../../support/postgres.ts'
import { hasPooler, startPooler } from './pooler.ts'
import { startProxy } from './proxy.ts'

const direct = process.env.BRIDGE_TEST_POSTGRES ?? ''
/** For a node whose connection the test cuts: it notices within this time. */
const quick: Partial<BusTimes> = { pingEveryMs: 1000, testEveryMs: 300 }
/** For any other node: a ping that comes back late would drop the connection, and an entry would be lost. */
const patient: Partial<BusTimes> = { pingEveryMs: 60_000, testWithinMs: 10_000 }

describe.skipIf(!isOnPostgres)('the connection between nodes', () => {
  const name = channelName(randomUUID())
  const cleanups: (() => Promise<unknown>)[] = []
  afterEach(async () => {
    for (const cleanUp of cleanups.splice(0).reverse()) await cleanUp()
  })

  const startBus = (self: string, { url = direct, times = patient, channel = name } = {}) => {
    const log: string[] = []
    const note = (_more: unknown, text?: string) => log.push(text ?? String(_more))
    const bus = new NodeBus({
      channel: createChannel({ settings: { url } }, channel, self),
      monotonicMs: () => performance.now(),
      log: { info: note, warn: note, error: note },
      times,
    })
    const woken: string[] = []
    let gaps = 0
    bus.hear('wake', (agent) => woken.push(agent))
    bus.onGap(() => {
      gaps += 1
    })
    bus.start()
    cleanups.push(() => bus.close())
    const mode = (expected: string) => expect.poll(() => bus.mode, { interval: 5 }).toBe(expected)
    return { bus, woken, log, mode, gaps: () => gaps }
  }

  test('an entry of one node reaches the other once, and not the node itself', async () => {
    const [one, other] = [startBus('one'), startBus('other')]
    await Promise.all([one.mode('notified'), other.mode('notified')])
    one.bus.tell('wake', 'ada')
    other.bus.tell('wake', 'ben')
    await expect.poll(() => [one.woken, other.woken], { interval: 5 }).toEqual([['ben'], ['ada']])
  })

  test('a node that is alone sends only pings', async () => {
    const { mode, bus, gaps } = startBus('alone', {
      times: { pingEveryMs: 500, testWithinMs: 500, testEveryMs: 300 },
    })
    await mode('notified')
    // A late ping opens another connection, on which the node counts from the beginning whether it is alone.
    let [seen, from] = [0, 0]
    const pings = () => {
      if (gaps() > seen) [seen, from] = [gaps(), bus.counts.sent]
      return bus.counts.sent - from
    }
    await expect.poll(pings).toBeGreaterThan(3)
    const before = bus.counts.sent
    for (let index = 0; index < 1000; index += 1) bus.tell('wake', `agent ${index}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(bus.counts.sent - before).toBeLessThanOrEqual(1)
  })

  test('the entries of one turn travel in one notification', async () => {
    const [one, other] = [startBus('one'), startBus('other')]
    await Promise.all([one.mode('notified'), other.mode('notified')])
    for (const { bus } of [one, other]) await expect.poll(() => bus.counts.received).toBeGreaterThan(0)
    const sent = other.bus.counts.sent
    for (let index = 0; index < 100; index += 1) other.bus.tell('wake', `agent ${index}`)
    await expect.poll(() => one.woken.length).toBe(100)
    // One notification for the entries, one for the ping that greeted the other node.
    expect(other.bus.counts.sent - sent).toBeLessThanOrEqual(2)
  })

  test('dropped packets are noticed by a ping, and everything is read after the next connection', async () => {
    const proxy = await startProxy(direct)
    cleanups.push(() => proxy.close())
    const { mode, bus, gaps } = startBus('behind', { url: proxy.url, times: quick })
    await mode('notified')
    const speaker = startBus('speaker')
    await speaker.mode('notified')
    const before = gaps()
    proxy.dropPackets()
    await mode('polled')
    await mode('notified')
    expect(gaps()).toBeGreaterThan(before)
    expect(bus.mode).toBe('notified')
  })

  test('entries that could not be sent become the word to read everything', async () => {
    const proxy = await startProxy(direct)
    cleanups.push(() => proxy.close())
    const [behind, other] = [startBus('behind', { url: proxy.url, times: quick }), startBus('other')]
    await Promise.all([behind.mode('notified'), other.mode('notified')])
    await expect.poll(() => behind.bus.counts.received).toBeGreaterThan(0)
    proxy.shut()
    await behind.mode('polled')
    for (let index = 0; index < 6000; index += 1) behind.bus.tell('wake', `agent ${index}`)
    expect(other.gaps()).toBe(1)
    proxy.open()
    await behind.mode('notified')
    await expect.poll(other.gaps).toBe(2)
    expect(other.woken).toEqual([])
  })

  test('a payload of a newer version is logged once and ignored', async () => {
    const { mode, log, woken } = startBus('reader')
    await mode('notified')
    const connection = await PostgresConnection.open({ url: direct })
    for (const payload of ['9newer', '9newer still', '1{"from":"other","wake":["ada"]}'])
      await connection.query({ text: 'SELECT pg_notify($1, $2)', values: [name, payload] })
    await connection.close()
    await expect.poll(() => woken).toEqual(['ada'])
    expect(log.filter((line) => line.includes('cannot be read'))).toHaveLength(1)
  })

  test('another installation on the same database is not heard', async () => {
    const [one, other] = [
      startBus('one'),
      startBus('other', { channel: channelName(randomUUID()), times: quick }),
    ]
    await Promise.all([one.mode('notified'), other.mode('notified')])
    other.bus.tell('wake', 'ada')
    await expect.poll(() => other.bus.counts.sent).toBeGreaterThan(2)
    expect([one.woken, one.bus.counts.received]).toEqual([[], 0])
  })

  test.skipIf(!hasPooler)(
    'a pooler of transactions swallows notifications, which the test at the start finds',
    async () => {
      const pooler = await startPooler(direct, 'transaction')
      cleanups.push(() => pooler.close())
      const { bus, log, gaps } = startBus('pooled', { url: pooler.url, times: quick })
      await expect.poll(() => log.filter((line) => line.includes('every 250 ms'))).not.toEqual([])
      expect([bus.mode, gaps()]).toEqual(['polled', 0])
      expect(await hearsNotifications({ settings: { url: pooler.url } })).toBe(false)
      // On a busy machine a notification may need more than the second of one test.
      const hears = (ways: Parameters<typeof hearsNotifications>[0]) =>
        expect.poll(() => hearsNotifications(ways)).toBe(true)
      await hears({ settings: { url: direct } })
      await hears({ settings: { url: pooler.url }, listen: { url: direct } })
    },
  )

  test.skipIf(!hasPooler)('notifications arrive through a pooler of sessions', async () => {
    const pooler = await startPooler(direct, 'session')
    cleanups.push(() => pooler.close())
    await startBus('pooled', { url: pooler.url }).mode('notified')
  })
})
