/**
 * The unread part of a refused request body. If it is long, the node reads little of it, the client receives
 * the answer while it is still sending, and the node then closes the connection. If it is short, the node
 * reads it and the connection stays in use.
 *
 * RFC 9112 §9.6; contract §2.
 */
import { once } from 'node:events'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
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

afterEach(() => void vi.useRealTimers())

const mebibyte = 1024 * 1024
const bodyBytes = 96 * mebibyte
const chunk = Buffer.alloc(64 * 1024, ' ')
const chunkOfText = `${chunk.length.toString(16)}\r\n${chunk.toString()}\r\n`

const kept = ['Connection', 'keep-alive'] as const
const declared = [kept, ['Content-Length', String(bodyBytes)]] as const
const chunked = [kept, ['Transfer-Encoding', 'chunked']] as const
const unknown = ['Authorization', 'AgentKey 01890000-0000-7000-8000-000000000000'] as const
const claim = { method: 'POST', target: '/api/v1/enrollments/claim' }
const message = { method: 'POST', target: '/api/v1/messages' }
const part = {
  method: 'PUT',
  target: '/api/v1/transfers/01890000-0000-7000-8000-000000000000/package/parts/0',
}
const undecodable = { method: 'POST', target: '/%zz' }
const nowhere = { method: 'POST', target: '/api/nowhere' }

const tooLong = requestText({ ...claim, headers: declared })
const refused: readonly (readonly [what: string, head: string, told: string])[] = [
  ['too large by its length', tooLong, '413 body_too_large'],
  ['too large by its chunks', requestText({ ...claim, headers: chunked }), '413 body_too_large'],
  ["a stranger's", requestText({ ...message, headers: [...declared, unknown] }), '401 credential_unknown'],
  [
    "a stranger's, in chunks",
    requestText({ ...message, headers: [...chunked, unknown] }),
    '401 credential_unknown',
  ],
  [
    'a part of a package',
    requestText({ ...part, headers: [...declared, unknown] }),
    '401 credential_unknown',
  ],
  ['for no path', requestText({ ...nowhere, headers: declared }), '404 not_found'],
  ['for a path that cannot be decoded', requestText({ ...undecodable, headers: declared }), '404 not_found'],
  ['for such a path, in chunks', requestText({ ...undecodable, headers: chunked }), '404 not_found'],
]

const short = ['Content-Length', '500000'] as const
const closing = ['Connection', 'close'] as const
const inChunks = ['Transfer-Encoding', 'chunked'] as const
const expecting = ['Expect', '100-continue'] as const
/** Refusals of a body of less than 1 MiB after which the connection ends. */
const lastAnswers: readonly (readonly [what: string, head: string, status: number])[] = [
  ['it asked to close', requestText({ ...message, headers: [closing, short, unknown] }), 401],
  ['it asked to close, in chunks', requestText({ ...message, headers: [closing, inChunks, unknown] }), 401],
  ['a part of a package', requestText({ ...part, headers: [closing, short, unknown] }), 401],
  ['it did not wait for 100', requestText({ ...message, headers: [kept, expecting, short, unknown] }), 401],
]

/** Resolves with the error of the write, if there is one. */
const written = ({ socket }: RawConnection, bytes: string | Buffer): Promise<Error | null | undefined> =>
  new Promise((resolve) => void socket.write(bytes, resolve))

/** Sends a body without pause until all of it is sent or the connection is closed. */
function pour({ socket }: RawConnection, bytes: string | Buffer): void {
  let sent = 0
  const more = () => {
    let wantsMore = true
    for (; wantsMore && sent < bodyBytes && !socket.destroyed; sent += bytes.length)
      wantsMore = socket.write(bytes)
  }
  socket.on('drain', more)
  more()
}

describe.each(['http', 'https'] as const)('over %s', (listener) => {
  test.each(refused)('a body that is %s', async (_what, head, told) => {
    const connection = new RawConnection(listeners[listener].url).send(head)
    const socket = await served.of(connection.socket)
    pour(connection, head.includes('chunked') ? chunkOfText : chunk)
    const [reply] = await connection.replies(1)
    expect(`${reply?.status} ${(JSON.parse(reply?.body ?? '') as { error: string }).error}`).toBe(told)
    await expect.poll(() => socket.destroyed).toBe(true)
    expect(socket.bytesRead).toBeLessThan(1.5 * mebibyte)
    connection.leave()
  })

  test('the answer to a long body announces that the connection closes', async () => {
    const connection = new RawConnection(listeners[listener].url).send(tooLong)
    const [reply] = await connection.replies(1)
    expect(reply?.headers.connection).toBe('close')
    // The client sends nothing more and keeps its side open.
    await connection.closed
    connection.leave()
  })

  test('a short body is read completely, and the next request is answered', async () => {
    const body = 'a'.repeat(300_000)
    for (const headers of [[kept, ['Content-Length', String(body.length)]] as const, chunked]) {
      const head = requestText({ ...claim, headers })
      const text = headers === chunked ? `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n` : body
      const connection = new RawConnection(listeners[listener].url).send(head + text)
      connection.send(requestText({ target: '/api/health' }))
      expect((await connection.replies(2)).map(({ status }) => status)).toEqual([413, 200])
      await connection.closed
    }
  })

  test.each(lastAnswers)(
    'the last answer reaches a client that still sends: %s',
    async (_what, head, status) => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
      const connection = new RawConnection(listeners[listener].url).send(head)
      const socket = await served.of(connection.socket)
      const more = head.includes('chunked') ? chunkOfText : chunk
      connection.send(more)
      const [reply] = await connection.replies(1)
      expect(reply?.status).toBe(status)
      await connection.closed
      expect(await written(connection, more)).toBeFalsy()
      vi.advanceTimersByTime(999)
      expect(socket.destroyed).toBe(false)
      vi.advanceTimersByTime(1)
      expect(socket.destroyed).toBe(true)
      expect(reply?.headers.connection).toBe('close')
      connection.leave()
    },
  )

  test('a connection whose refused body was read completely closes without delay', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const body = 'a'.repeat(300_000)
    const head = requestText({ ...claim, headers: [kept, ['Content-Length', String(body.length)]] })
    const connection = new RawConnection(listeners[listener].url).send(head + body)
    const socket = await served.of(connection.socket)
    connection.send(requestText({ target: '/api/health' }))
    expect((await connection.replies(2)).map(({ status }) => status)).toEqual([413, 200])
    // Not `expect.poll`, which advances the fake time at each try.
    if (!socket.destroyed) await once(socket, 'close')
  })
})
