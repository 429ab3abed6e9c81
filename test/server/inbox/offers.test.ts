/** The offers of the inbox: their order, their repetition, and the bytes that count. Contract §6. */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { signedText } from '../../support/raw-client.ts'
import { type Served, watchServed } from '../../support/served.ts'
import { openWait, untilListening } from '../../support/waits.ts'
import { acknowledge, bodiesOf, newSession, numbered, read, useInbox } from './scene.ts'

const its = useInbox()

describe('offering', () => {
  test('new messages are offered in sequence order, page by page, each once', async () => {
    await its.write(...numbered(7))
    const pages = [await read(its.bridge.ben, '?limit=3'), await read(its.bridge.ben, '?limit=3')]
    pages.push(await read(its.bridge.ben, '?limit=3'), await read(its.bridge.ben, '?limit=3'))
    expect(pages.map(bodiesOf)).toEqual([
      ['note 0', 'note 1', 'note 2'],
      ['note 3', 'note 4', 'note 5'],
      ['note 6'],
      [],
    ])
    expect(pages.map(({ has_more }) => has_more)).toEqual([true, true, false, false])
    expect(pages.map(({ waiting }) => waiting)).toEqual([7, 7, 7, 7])
  })

  test('an offered message is offered again after 60 seconds, not earlier, with the count of its offers', async () => {
    const [id = ''] = await its.write('remember me')
    const first = await read(its.bridge.ben)
    expect(first.messages).toMatchObject([{ id, delivery: { attempt: 1, offers: 1 } }])
    its.bridge.clock.advance(50)
    expect(await read(its.bridge.ben)).toMatchObject({ messages: [], waiting: 1 })
    its.bridge.clock.advance(10)
    const second = await read(its.bridge.ben)
    expect(second.messages).toMatchObject([
      {
        id,
        delivery: { attempt: 2, offers: 2, first_offered_at: first.messages[0]?.delivery.first_offered_at },
      },
    ])
    expect(await read(its.bridge.ben)).toMatchObject({ messages: [], waiting: 1 })
  })

  test('an acknowledged message is never offered again, in any session', async () => {
    const [first = '', second = ''] = await its.write('one', 'two')
    await read(its.bridge.ben)
    expect((await acknowledge(its.bridge.ben, [first])).json).toEqual({ acknowledged: [first], already: [] })
    its.bridge.clock.advance(60)
    expect((await read(its.bridge.ben)).messages).toMatchObject([{ id: second }])
    await newSession(its.bridge.ben)
    expect((await read(its.bridge.ben)).messages).toMatchObject([{ id: second }])
    expect((await acknowledge(its.bridge.ben, [second, first])).json).toEqual({
      acknowledged: [second],
      already: [first],
    })
    expect(await read(its.bridge.ben)).toMatchObject({ messages: [], waiting: 0 })
  })

  test("acknowledging another agent's messages has no effect", async () => {
    const [id = ''] = await its.write('mine')
    const unknown = await acknowledge(its.bridge.ben, [id, randomUUID()])
    expect([unknown.status, unknown.json]).toMatchObject([404, { error: 'not_found' }])
    expect((await acknowledge(its.bridge.ada, [id])).status).toBe(404)
    expect((await read(its.bridge.ben)).messages).toMatchObject([{ id }])
  })

  test('a new session is offered every unacknowledged message immediately', async () => {
    await its.write(...numbered(3))
    await read(its.bridge.ben, '?limit=2')
    await newSession(its.bridge.ben)
    const page = await read(its.bridge.ben)
    expect(bodiesOf(page)).toEqual(['note 0', 'note 1', 'note 2'])
    expect(page.messages.map(({ delivery }) => delivery.attempt)).toEqual([2, 2, 1])
  })

  test('a resumed session is not a new one', async () => {
    await its.write('once')
    await read(its.bridge.ben)
    await its.bridge.ben.startSession()
    expect((await read(its.bridge.ben)).messages).toEqual([])
  })

  test.each([{ pages: [10] }, { pages: Array(10).fill(1) }, { pages: [5, 5] }])(
    'one slot in ten is reserved for redeliveries that are due: pages of $pages',
    async ({ pages }) => {
      await its.write(...numbered(10, 'old'))
      await read(its.bridge.ben)
      its.bridge.clock.advance(60)
      await its.write(...numbered(20, 'new'))
      const bodies: string[] = []
      for (const limit of pages) bodies.push(...bodiesOf(await read(its.bridge.ben, `?limit=${limit}`)))
      expect(bodies.filter((body) => body.startsWith('old'))).toEqual(['old 0'])
      expect(bodies.filter((body) => body.startsWith('new'))).toEqual(numbered(9, 'new'))
    },
  )

  test('redeliveries fill the free slots of a page, oldest first', async () => {
    await its.write('first')
    await read(its.bridge.ben)
    its.bridge.clock.advance(1)
    await its.write('second')
    await read(its.bridge.ben)
    its.bridge.clock.advance(60)
    await its.write('third')
    expect(bodiesOf(await read(its.bridge.ben))).toEqual(['third', 'first', 'second'])
  })
})

describe('an offer counts once its bytes were sent', () => {
  const large = 16
  /** Fills one page with nearly 1 MiB. */
  const writeLarge = async () => {
    const ids: string[] = []
    for (const text of numbered(large, 'x'.repeat(60_000))) {
      ids.push((await its.bridge.owner.message(its.bridge.project.id, its.bridge.ben.id, text)).id)
    }
    return ids
  }
  const everything = '/api/v1/inbox?limit=100'
  /** The node records the offers of a page shortly after its bytes were sent. */
  const deliveryOf = async (id: string) => {
    const { delivery } = await its.bridge.ben.ok<{ delivery: { offers: number } }>({
      target: `/api/v1/messages/${id}`,
    })
    return delivery.offers
  }

  let served: Served
  beforeAll(() => {
    served = watchServed()
  })
  afterAll(() => served.stop())

  /**
   * A client that reads nothing: its connection already holds more than the system buffers before its page.
   */
  async function slowReader() {
    const socket = connect(its.bridge.server.port, '127.0.0.1')
    const other = await served.of(socket)
    const filling = 16 * 1024 * 1024
    other.write(Buffer.alloc(filling))
    socket.write(signedText(its.bridge.ben, { target: everything }))
    // The page waits behind these bytes.
    await expect.poll(() => other.writableLength).toBeGreaterThan(filling)
    return socket
  }

  test('an offer on a connection that closed earlier does not count, and the next read gets every message', async () => {
    const [id = ''] = await writeLarge()
    const socket = await slowReader()
    expect((await read(its.bridge.ben, '?limit=100')).messages.length).toBe(0)
    socket.destroy()
    const page = await read(its.bridge.ben, '?limit=100&wait_seconds=20')
    expect(page.messages.map(({ delivery }) => delivery.attempt)).toEqual(Array(large).fill(1))
    await expect.poll(() => deliveryOf(id)).toBe(1)
  })

  test('while a slow client receives its page, a second read neither gets those messages nor busy-loops', async () => {
    const ids = await writeLarge()
    await read(its.bridge.ben, '?limit=100')
    await expect.poll(() => deliveryOf(ids.at(-1) ?? '')).toBe(1)
    its.bridge.clock.advance(60)
    const slow = await slowReader()

    const timers = vi.spyOn(globalThis, 'setTimeout')
    const began = performance.now()
    const { messages, waiting } = await read(its.bridge.ben, '?limit=100&wait_seconds=1')
    expect([messages.length, waiting]).toEqual([0, large])
    expect(performance.now() - began).toBeGreaterThan(990)
    expect(timers.mock.calls.length).toBeLessThan(20)
    slow.destroy()
  })

  test('a page that a fenced session reads late is not offered again to the session that acknowledged it', async () => {
    const ids = await writeLarge()
    const slow = await slowReader()
    its.bridge.clock.advance(90)
    await its.bridge.ben.startSession(randomUUID())
    expect((await read(its.bridge.ben, '?limit=100')).messages).toHaveLength(large)
    await expect.poll(() => deliveryOf(ids.at(-1) ?? '')).toBe(1)

    await once(slow.resume(), 'close')
    expect((await read(its.bridge.ben, '?limit=100&wait_seconds=1')).messages.length).toBe(0)
  })

  test('a client that disconnects while waiting for a redelivery does not withhold the message from the next read', async () => {
    const [id = ''] = await its.write('patience')
    await read(its.bridge.ben)
    // The offer is not recorded before that, and the clock must not move earlier.
    await expect.poll(() => deliveryOf(id)).toBe(1)
    const wait = openWait(its.bridge.ben)
    await untilListening(its.bridge, its.bridge.ben)
    await wait.leave()
    // A node that has not noticed the end offers the message to the closed connection.
    its.bridge.clock.advance(6)
    await untilListening(its.bridge, its.bridge.ben, false)
    its.bridge.clock.advance(55)
    await expect.poll(async () => bodiesOf(await read(its.bridge.ben))).toEqual(['patience'])
  })
})
