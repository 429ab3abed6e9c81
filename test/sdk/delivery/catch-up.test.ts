/**
 * Messages whose bytes a node has sent and a connection has lost arrive after the next connection, and not only
 * after the redelivery interval. The clock of the node stands still, so no redelivery is due.
 */
import { describe, expect, test } from 'vitest'
import { listenTransports } from '../../../sdk/program.ts'
import { asks, stage, times } from './stage.ts'

const node = stage(9)

describe.each(listenTransports)('over %s', (transport) => {
  const wire = { socket: 'socket', sse: 'events', 'long-poll': 'inbox' } as const

  test('messages that a broken connection lost arrive over the next one, once and in order', async () => {
    const proxy = await node.between()
    const agent = node.someone()
    const { ear } = node.listen(agent, {
      baseUrl: proxy.url,
      clock: node.bridge.clock,
      transports: [transport],
    })
    await node.tell(agent, 'before')
    await ear.heard('before')
    await asks(proxy, wire[transport], transport === 'long-poll' ? 2 : 1)
    proxy.freeze()
    await node.tell(agent, 'lost')
    await expect.poll(() => node.offersOf(agent)).toBe(1)
    await node.tell(agent, 'lost too')
    if (transport !== 'long-poll') await expect.poll(() => node.offersOf(agent)).toBe(1)
    proxy.cut()
    proxy.thaw()
    await ear.heard('lost')
    await ear.heard('lost too')
    await node.tell(agent, 'after')
    await ear.heard('after')
    expect(ear.bodies).toEqual(['before', 'lost', 'lost too', 'after'])
    expect(ear.messages.map(({ delivery }) => delivery.attempt)).toEqual([1, 1, 1, 1])
  })

  test('a connection that broke without a loss repeats nothing, also what is not acknowledged', async () => {
    const proxy = await node.between()
    const agent = node.someone()
    const { ear } = node.listen(agent, {
      baseUrl: proxy.url,
      clock: node.bridge.clock,
      transports: [transport],
    })
    for (const text of ['one', 'two']) {
      await node.tell(agent, text)
      await ear.heard(text)
    }
    const before = times(proxy, wire[transport])
    proxy.cut()
    await expect.poll(() => times(proxy, wire[transport])).toBeGreaterThan(before)
    await node.tell(agent, 'three')
    await ear.heard('three')
    expect(ear.bodies).toEqual(['one', 'two', 'three'])
  })
})
