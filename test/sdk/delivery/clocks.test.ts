/** Clocks during listening: a machine that sleeps, and a machine with a wrong clock. */
import { expect, test } from 'vitest'
import { httpFetch } from '../../../cli/startup/http-fetch.ts'
import { sessionsOf } from '../../support/sdk-listener.ts'
import { untilListening } from '../../support/waits.ts'
import { asks, stage, times } from './stage.ts'

const node = stage(6)

test('after a sleep of the machine the client replaces its connection, although no error was reported', async () => {
  const proxy = await node.between()
  const agent = node.someone()
  const { ear } = node.listen(agent, { baseUrl: proxy.url, clock: node.bridge.clock })
  await node.tell(agent, 'before')
  await ear.heard('before')
  // Time passed for both sides; the client's monotonic clock stood still during the sleep.
  node.bridge.clock.advance(4)
  await node.tell(agent, 'awake')
  await ear.heard('awake')
  expect(times(proxy, 'socket')).toBe(1)
  node.bridge.clock.advance(600)
  await asks(proxy, 'socket', 2)
  await node.tell(agent, 'after')
  await ear.heard('after')
  expect(ear.connection).toEqual([])
})

test('the client also replaces a poll that was open during a sleep', async () => {
  const proxy = await node.between()
  const agent = node.someone()
  const { ear } = node.listen(agent, {
    baseUrl: proxy.url,
    clock: node.bridge.clock,
    transports: ['long-poll'],
  })
  await asks(proxy, 'inbox', 1)
  // If the node read the request after the step, it would refuse its time, and the client would send it again.
  await untilListening(node.bridge, agent)
  node.bridge.clock.advance(600)
  await asks(proxy, 'inbox', 2)
  await node.tell(agent, 'after')
  await ear.heard('after')
})

test.each([
  ['the SDK', undefined],
  ['the command line', httpFetch()],
])(
  'messages that a poll lost during a sleep arrive after it, with the fetch of %s',
  async (_whose, fetch) => {
    const proxy = await node.between()
    const agent = node.someone()
    const { ear } = node.listen(agent, {
      baseUrl: proxy.url,
      clock: node.bridge.clock,
      transports: ['long-poll'],
      ...(fetch && { fetch }),
    })
    await node.tell(agent, 'before')
    await ear.heard('before')
    await asks(proxy, 'inbox', 2)
    proxy.freeze()
    await node.tell(agent, 'lost')
    await expect.poll(() => node.offersOf(agent)).toBe(1)
    proxy.thaw()
    // Long enough for a sleep, and too short for a redelivery.
    node.bridge.clock.advance(10)
    await asks(proxy, 'inbox', 3)
    await node.tell(agent, 'after')
    await ear.heard('after')
    expect(ear.bodies).toEqual(['before', 'lost', 'after'])
  },
)

test('the client corrects a wrong clock while it listens, once for each new connection', async () => {
  const proxy = await node.between()
  const agent = node.someone()
  let aheadMs = 0
  const sessions = sessionsOf(agent)
  const { ear } = node.listen(agent, {
    baseUrl: proxy.url,
    sessions,
    clock: () => new Date(node.bridge.clock().getTime() + aheadMs),
  })
  await ear.on('socket')
  aheadMs = 3_600_000
  // One request is refused for its time; the next one carries the node's time.
  await asks(proxy, 'socket', 3)
  await node.tell(agent, 'in time')
  await ear.heard('in time')
  expect(Math.abs(sessions.stored.clock_offset_ms + aheadMs)).toBeLessThan(60_000)
})

test('a clock that stays wrong after a correction ends listening with clock_skew', async () => {
  const proxy = await node.between()
  const agent = node.someone()
  let stepMs = 0
  let aheadMs = 0
  const { ear } = node.listen(agent, {
    baseUrl: proxy.url,
    clock: () => {
      aheadMs += stepMs
      return new Date(node.bridge.clock().getTime() + aheadMs)
    },
  })
  await ear.on('socket')
  stepMs = 3_600_000
  expect(await ear.ended).toMatchObject({ code: 'clock_skew', status: 401 })
  // An attempt that takes a second is taken for one before a sleep, and is repeated.
  expect(times(proxy, 'socket')).toBeGreaterThanOrEqual(3)
})
