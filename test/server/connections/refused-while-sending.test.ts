/**
 * A client that still sends reads the status 400, 408 or 431 of a request that is never complete: the node reads
 * no more, and closes the connection a second later. An immediate close would reset the connection.
 *
 * The tests hold the time of the node. Contract §2.
 */
import { once } from 'node:events'
import type { Socket } from 'node:net'
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  onTestFinished,
  test,
  vi,
} from 'vitest'
import { mostClosing } from '../../../server/http/close-connection.ts'
import { RawConnection, requestText } from '../../support/raw-client.ts'
import { type Served, watchServed } from '../../support/served.ts'
import { type Listeners, startListeners } from './listeners.ts'

let listeners: Listeners
let served: Served

beforeAll(async () => {
  listeners = await startListeners()
  served = watchServed()
})
afterAll(async () => {
  served.stop()
  await listeners.close()
})
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

const more = Buffer.alloc(64 * 1024, 'a')
const noHttp = 'no request at all\r\n\r\n'
const longHead = `GET /api/health HTTP/1.1\r\nHost: x\r\nA: ${'a'.repeat(200_000)}`
const slowBody = requestText({
  method: 'POST',
  target: '/api/v1/enrollments/claim',
  headers: [
    ['Content-Length', '200000'],
    ['Expect', '100-continue'],
  ],
})

async function expectSecond(connection: RawConnection, socket: Socket, status: number): Promise<void> {
  await connection.closed
  expect(connection.text).toContain(`HTTP/1.1 ${status} `)
  expect(await written(connection)).toBeFalsy()
  vi.advanceTimersByTime(999)
  expect(socket.destroyed).toBe(false)
  vi.advanceTimersByTime(1)
  expect(socket.destroyed).toBe(true)
  connection.leave()
}

/** Resolves with the error of the write, if there is one. */
const written = ({ socket }: RawConnection): Promise<Error | null | undefined> =>
  new Promise((resolve) => void socket.write(more, resolve))

describe.each(['http', 'https'] as const)('over %s', (listener) => {
  const open = () => new RawConnection(listeners[listener].url)

  test.each([
    ['no HTTP', noHttp, 400],
    ['too long a head', longHead, 431],
  ])('the answer to %s', async (_what, bytes, status) => {
    const connection = open().send(bytes).send(more)
    await expectSecond(connection, await served.of(connection.socket), status)
  })

  test('the answer to a slow body', async () => {
    const connection = open().send(slowBody)
    await connection.until('HTTP/1.1 100 Continue\r\n\r\n')
    connection.send(more)
    vi.advanceTimersByTime(30_000)
    await expectSecond(connection, await served.of(connection.socket), 408)
  })

  test('a client that has ended its side does not hold the connection', async () => {
    const connection = open().send('GET /api/health HTTP/1.1\r\nHost: x').halfClose()
    const socket = await served.of(connection.socket)
    // Not `expect.poll`, which advances the fake time at each try.
    if (!socket.destroyed) await once(socket, 'close')
    await connection.closed
    expect(connection.text).toContain('HTTP/1.1 400 ')
  })
})

test('so many connections wait at most, and a further one is closed at once', async () => {
  // Among so many connections some use the port of an earlier one.
  const servedNow = watchServed()
  onTestFinished(() => servedNow.stop())
  const refuse = async () => {
    const connection = new RawConnection(listeners.http.url).send(noHttp)
    const socket = await servedNow.of(connection.socket)
    await connection.closed
    return socket
  }
  const waiting = await Promise.all(Array.from({ length: mostClosing }, refuse))
  expect(waiting.filter((each) => each.destroyed)).toEqual([])
  const further = await refuse()
  if (!further.destroyed) await once(further, 'close')
  expect(waiting.filter((each) => each.destroyed)).toEqual([])
  vi.advanceTimersByTime(1000)
  expect(waiting.filter((each) => !each.destroyed)).toEqual([])
  const next = await refuse()
  expect(next.destroyed).toBe(false)
  vi.advanceTimersByTime(1000)
})
