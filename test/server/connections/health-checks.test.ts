/**
 * Health checks of load balancers: `GET /api/health` and `GET /api/ready` answer HTTP/1.0, with and without
 * Host, over HTTP and TLS. Every other path refuses HTTP/1.0, and HTTP/1.1 requires a Host everywhere.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { exchangeOne, RawConnection } from '../../support/raw-client.ts'
import { type Listener, type Listeners, startListeners } from './listeners.ts'

let listeners: Listeners

beforeAll(async () => {
  listeners = await startListeners()
})
afterAll(() => listeners.close())

const checks = ['/api/health', '/api/ready']
const get = (target: string, version: string, ...lines: string[]) =>
  [`GET ${target} HTTP/${version}`, ...lines, '', ''].join('\r\n')

describe.each<Listener>(['http', 'https'])('over %s', (listener) => {
  /** Sends it and leaves its side open: the node closes the connection after one answer. */
  const told = async (bytes: string) => {
    const { status, error } = await exchangeOne(listeners[listener].url, bytes)
    return error ?? status
  }

  test.each(checks)('%s answers HTTP/1.0 with and without Host, and closes the connection', async (path) => {
    for (const bytes of [get(path, '1.0'), get(path, '1.0', 'Host: bridge.test')]) {
      const { status, headers, body } = await exchangeOne(listeners[listener].url, bytes)
      const framing = { connection: 'close', 'content-length': String(body.length) }
      expect([status, headers]).toEqual([200, expect.objectContaining(framing)])
    }
  })

  test.each(checks)('%s refuses HTTP/1.1 without Host', async (path) => {
    expect(await told(get(path, '1.1', 'Connection: close'))).toBe('invalid_request')
  })

  test.each(checks)('%s refuses two Hosts and a body over HTTP/1.0', async (path) => {
    expect(await told(get(path, '1.0', 'Host: a', 'Host: b'))).toBe('invalid_request')
    expect(await told(`${get(path, '1.0', 'Content-Length: 2')}{}`)).toBe('invalid_request')
    expect(await told(`${get(path, '1.0', 'Transfer-Encoding: chunked')}0\r\n\r\n`)).toBe('invalid_request')
  })

  test.each(checks)('%s refuses other methods and versions', async (path) => {
    for (const method of ['OPTIONS', 'POST'])
      expect(await told(get(path, '1.0').replace('GET', method))).toBe('method_not_allowed')
    expect(await told(get(path, '2.0'))).toBe('invalid_request')
  })

  test.each(['/api/openapi', '/client', '/', '/api/v1/inbox', '/api/admin/session', '/api/v1/socket'])(
    '%s refuses HTTP/1.0 with and without Host',
    async (path) => {
      expect(await told(get(path, '1.0'))).toBe('invalid_request')
      expect(await told(get(path, '1.0', 'Host: bridge.test'))).toBe('invalid_request')
    },
  )

  test('paths that resemble them do not exist', async () => {
    for (const path of ['/api/health/', '/api/healthy', '/api/%68ealth', '/api/ready/now'])
      expect([path, await told(get(path, '1.0', 'Host: bridge.test'))]).toEqual([
        path,
        path === '/api/healthy' || path === '/api/ready/now' ? 'invalid_request' : 'not_found',
      ])
  })

  test('a connection that HTTP/1.0 keeps alive carries several checks', async () => {
    const connection = new RawConnection(listeners[listener].url)
    for (let count = 1; count <= 3; count += 1) {
      connection.send(get('/api/ready', '1.0', 'Connection: keep-alive'))
      expect((await connection.replies(count)).map(({ status }) => status)).toEqual(Array(count).fill(200))
    }
    connection.leave()
  })
})
