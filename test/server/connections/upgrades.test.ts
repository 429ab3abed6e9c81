/**
 * A request that offers an upgrade to another protocol is answered in HTTP/1.1; a WebSocket opens at the
 * socket's path only.
 *
 * Contract §2 "Connection: Upgrade anywhere but at the socket is ignored", RFC 9110 §7.8.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { RawConnection, signedText } from '../../support/raw-client.ts'
import { type Listener, type Listeners, startListeners } from './listeners.ts'

let listeners: Listeners

beforeAll(async () => {
  listeners = await startListeners()
})
afterAll(() => listeners.close())

const h2c = [
  'Connection: Upgrade, HTTP2-Settings',
  'Upgrade: h2c',
  'HTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA',
]
const webSocket = [
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
]
const plain = ['Connection: keep-alive']

const get = (target: string, connections: readonly string[]) =>
  [`GET ${target} HTTP/1.1`, 'Host: bridge.test', ...connections, '', ''].join('\r\n')

/** Sends the requests one after the other on one connection; returns the status and code of each answer. */
async function answersTo(listener: Listener, ...requests: readonly string[]): Promise<string[]> {
  const connection = new RawConnection(listeners[listener].url)
  for (const [index, request] of requests.entries()) await connection.send(request).replies(index + 1)
  const replies = await connection.replies(requests.length)
  connection.leave()
  return replies.map(({ status, body }) => {
    const { error = 'done' } = JSON.parse(body) as { error?: string }
    return `${status} ${error}`
  })
}

describe.each(['http', 'https'] as const)('over %s', (listener) => {
  test('a GET that offers HTTP/2 is answered, and so is the next request on its connection', async () => {
    const answers = await answersTo(listener, get('/api/health', h2c), get('/api/ready', plain))
    expect(answers).toEqual(['200 done', '200 done'])
  })

  test('a POST with a body that offers HTTP/2 takes effect once', async () => {
    const { ada, ben } = listeners[listener]
    const conversation = await ada.conversationWith(ben.id)
    const body = { conversation_id: conversation, recipient_agent_id: ben.id, type: 'note', body: listener }
    const call = { target: '/api/v1/messages', body }
    const offering = signedText(ada, call, 'keep-alive').replace('Connection: keep-alive', h2c.join('\r\n'))
    expect(await answersTo(listener, offering, get('/api/health', plain))).toEqual(['200 done', '200 done'])
    expect((await ben.inbox()).messages.map((message) => message.body)).toEqual([listener])
  })

  test('a WebSocket upgrade at another path is handled as a plain request', async () => {
    expect(await answersTo(listener, get('/api/health', webSocket))).toEqual(['200 done'])
    expect(await answersTo(listener, get('/api/v1/events', webSocket))).toEqual(['401 unauthenticated'])
    expect(await answersTo(listener, get('/api/v1/other', webSocket))).toEqual(['404 not_found'])
  })

  test("an upgrade to another protocol at the socket's path is handled as a plain request", async () => {
    expect(await answersTo(listener, get('/api/v1/socket', h2c))).toEqual(['422 invalid_request'])
  })
})

describe('a WebSocket at its path', () => {
  const badHandshakes: readonly (readonly [string, string, string])[] = [
    ['without a key', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==', 'X: y'],
    ['with a malformed key', 'dGhlIHNhbXBsZSBub25jZQ==', 'short'],
    ['of another version', 'Version: 13', 'Version: 12'],
    ['with a malformed subprotocol', 'X: y', 'Sec-WebSocket-Protocol: ,'],
  ]
  test.each(badHandshakes)('%s is refused like any other request', async (_what, good, bad) => {
    const connection = new RawConnection(listeners.http.url)
    connection.send(get('/api/v1/socket', [...webSocket, 'X: y']).replace(good, bad))
    const [reply] = await connection.replies(1)
    await connection.closed
    expect(reply?.status).toBe(422)
    expect(reply?.headers).toMatchObject({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'content-type': 'application/json; charset=utf-8',
    })
    const body = JSON.parse(reply?.body ?? '') as { error: string; request_id: string }
    expect(body.error).toBe('invalid_request')
    expect(reply?.headers['x-request-id']).toBe(body.request_id)
    connection.leave()
  })

  test('opens with the headers of every answer', async () => {
    const connection = new RawConnection(listeners.http.url)
    connection.send(get('/api/v1/socket', webSocket))
    await connection.until('\r\n\r\n')
    const head = connection.text.split('\r\n\r\n', 1)[0]?.toLowerCase() ?? ''
    expect(head).toMatch(/^http\/1\.1 101 /)
    for (const name of ['x-request-id', 'cache-control: no-store', 'x-content-type-options: nosniff'])
      expect(head).toContain(`\r\n${name}`)
    connection.leave()
  })
})
