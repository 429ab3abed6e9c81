/**
 * When a node gives up the connection by which it hears others, and when it tests a connection again. The
 * channel leads to the node itself, and the test holds what it sends.
 */
import { afterEach, expect, test } from 'vitest'
import { type BusTimes, NodeBus } from '../../../server/bus/bus.ts'

const quick: Partial<BusTimes> = { pingEveryMs: 20, testWithinMs: 20 }
const buses: NodeBus[] = []
afterEach(async () => {
  for (const bus of buses.splice(0)) await bus.close()
})

interface Ways {
  readonly times?: Partial<BusTimes>
  /** Called with each notification on a connection, and with the one that delivers it. */
  readonly send?: (deliver: () => void, payload: string) => void | Promise<void>
  /** The same with that of a self-test. */
  readonly sendApart?: (deliver: () => void) => void
}

function startBus({ times = quick, send = (go) => go(), sendApart = (go) => go() }: Ways) {
  let connections = 0
  let receive = (_payload: string) => {}
  const bus = new NodeBus({
    channel: {
      self: 'one',
      maxBytes: 8000,
      async connect({ onPayload, onEnd }) {
        connections += 1
        receive = onPayload
        return {
          send: async (payloads) => {
            for (const payload of payloads) await send(() => onPayload(payload), payload)
          },
          drop: onEnd,
        }
      },
      sendApart: async (payload) => sendApart(() => receive(payload)),
    },
    monotonicMs: () => performance.now(),
    log: { info() {}, warn() {}, error() {} },
    times,
  })
  buses.push(bus)
  bus.start()
  return { bus, connections: () => connections }
}

test('a ping that comes back when the next one is sent keeps the connection', async () => {
  const held: (() => void)[] = []
  let late = 0
  const { bus, connections } = startBus({
    send(deliver) {
      held.push(deliver)
      if (held.length < 2) return
      late += 1
      for (const each of held.splice(0)) each()
    },
  })
  await expect.poll(() => late, { interval: 5 }).toBeGreaterThan(5)
  expect([bus.mode, connections()]).toEqual(['notified', 1])
})

test('pings that do not come back end the connection', async () => {
  const { connections } = startBus({ send() {} })
  await expect.poll(connections, { interval: 5 }).toBeGreaterThan(2)
})

test('a node notices within five seconds that notifications have stopped', async () => {
  const noticedAfterMs = async () => {
    let stoppedMs: number | undefined
    const { bus } = startBus({
      times: {},
      send(deliver) {
        if (stoppedMs !== undefined) return
        deliver()
        stoppedMs = performance.now()
      },
    })
    await expect.poll(() => stoppedMs, { interval: 5 }).toBeDefined()
    await expect.poll(() => bus.mode, { interval: 5 }).toBe('polled')
    return performance.now() - (stoppedMs ?? 0)
  }
  // On a busy machine the process may stand still meanwhile, and then the test measures again.
  await expect.poll(noticedAfterMs).toBeLessThan(5000)
})

test('a connection on which the first self-test failed is tested again soon', async () => {
  let tests = 0
  const { bus, connections } = startBus({
    sendApart(deliver) {
      tests += 1
      if (tests > 1) deliver()
    },
  })
  // The longest interval between two tests is a minute.
  await expect.poll(() => bus.mode, { timeout: 30_000 }).toBe('notified')
  expect([tests, connections()]).toEqual([2, 1])
})

test('the interval between self-tests doubles up to the longest', async () => {
  const atMs: number[] = []
  startBus({
    times: { ...quick, testAgainMs: 40, testEveryMs: 100 },
    sendApart: () => atMs.push(performance.now()),
  })
  // Without a longest interval these tests would take minutes.
  await expect.poll(() => atMs.length, { interval: 5 }).toBeGreaterThan(12)
  const pauses = atMs.slice(1).map((ms, index) => ms - (atMs[index] ?? 0))
  // Each pause follows a test of 20 ms. A timer may be a millisecond early.
  for (const [index, least] of [40, 80, 100, 100].entries())
    expect(pauses[index]).toBeGreaterThan(least + 20 - 3)
})

test('a node that closes sends what it has told, also behind a notification on its way', async () => {
  const sent: string[] = []
  const { promise: onItsWay, resolve: arrives } = Promise.withResolvers<void>()
  let isSlow = false
  const { bus } = startBus({
    times: {},
    async send(deliver, payload) {
      sent.push(payload)
      if (isSlow) await onItsWay
      deliver()
    },
  })
  await expect.poll(() => bus.mode, { interval: 5 }).toBe('notified')
  isSlow = true
  bus.tell('wake', 'ada')
  await expect.poll(() => sent.join(), { interval: 5 }).toContain('ada')
  bus.tell('wake', 'ben')
  // It waits for its time.
  bus.tell('commit', 'cleo')
  const closed = bus.close()
  arrives()
  await closed
  expect(sent.join()).toMatch(/ben/)
  expect(sent.join()).toMatch(/cleo/)
})
