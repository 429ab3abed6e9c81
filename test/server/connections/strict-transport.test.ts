/**
 * With an https origin every answer carries Strict-Transport-Security, no matter which part of the node wrote
 * it: a route, a refusal before routing, the HTTP parser, or the upgrade handler. Without an https origin no
 * answer carries it.
 *
 * Contract §10.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { initServer } from '../../../server/host/init.ts'
import { type RunningServer, startServer } from '../../../server/server.ts'
import { testConfig } from '../../support/config.ts'
import { dropDatabase, makeEmptyDatabase } from '../../support/postgres.ts'
import { RawConnection, requestText } from '../../support/raw-client.ts'
import { type Listeners, startListeners } from './listeners.ts'

let listeners: Listeners
let proxied: RunningServer
const data = mkdtempSync(join(tmpdir(), 'bridge-proxied-'))

beforeAll(async () => {
  listeners = await startListeners()
  const portal_origin = 'https://bridge.example'
  const config = testConfig(data, { port: '0', log_level: 'silent', reserve_bytes: '0', portal_origin })
  await makeEmptyDatabase(data)
  await initServer(config)
  proxied = await startServer(config)
})
afterAll(async () => {
  await Promise.all([listeners.close(), proxied.stop()])
  await dropDatabase(data)
  rmSync(data, { recursive: true })
})

const webSocket = (target: string, key: string) => {
  const offer = [
    ['Connection', 'Upgrade'],
    ['Upgrade', 'websocket'],
    ['Sec-WebSocket-Version', '13'],
    ['Sec-WebSocket-Key', key],
  ] as const
  return requestText({ target, headers: offer })
}
const goodKey = 'dGhlIHNhbXBsZSBub25jZQ=='
const claim = '/api/v1/enrollments/claim'

const answers: readonly (readonly [what: string, bytes: string, status: number])[] = [
  ['a route', requestText({ target: '/api/health' }), 200],
  ['a refused credential', requestText({ target: '/api/v1/peers' }), 401],
  ['a refused Origin', requestText({ method: 'POST', target: '/api/admin/session', body: '{}' }), 403],
  ['an unknown path', requestText({ target: '/nowhere' }), 404],
  ['a target that the router cannot read', requestText({ target: '/api/%zz' }), 404],
  ['a wrong method', requestText({ method: 'DELETE', target: '/api/health' }), 405],
  [
    'a body too large',
    requestText({ method: 'POST', target: claim, headers: [['Content-Length', '262145']] }),
    413,
  ],
  [
    'a header twice',
    requestText({
      target: '/api/health',
      headers: [
        ['Host', 'a'],
        ['Host', 'b'],
      ],
    }),
    422,
  ],
  ['bytes that are not HTTP', 'hello\r\n\r\n', 400],
  ['too long a head', requestText({ target: '/api/health', headers: [['A', 'a'.repeat(17_000)]] }), 431],
  ['an open socket', webSocket('/api/v1/socket', goodKey), 101],
  ['a refused upgrade', webSocket('/api/v1/socket?a=b', goodKey), 404],
  ['a refused handshake', webSocket('/api/v1/socket', 'short'), 422],
]

async function headOf(url: string, bytes: string): Promise<string> {
  const connection = new RawConnection(url).send(bytes)
  await connection.until('\r\n\r\n')
  connection.leave()
  return connection.text.split('\r\n\r\n', 1)[0]?.toLowerCase() ?? ''
}

describe.each(answers)('the answer of %s', (_what, bytes, status) => {
  const header = '\r\nstrict-transport-security: max-age=31536000'

  test('carries the header over TLS, and behind a proxy that speaks TLS', async () => {
    for (const { url } of [listeners.https, { url: `http://127.0.0.1:${proxied.port}` }]) {
      const head = await headOf(url, bytes)
      expect(head).toContain(`http/1.1 ${status} `)
      expect(head).toContain(header)
      expect(head).toContain('\r\ncache-control: no-store')
    }
  })

  test('does not carry the header without TLS', async () => {
    const head = await headOf(listeners.http.url, bytes)
    expect(head).toContain(`http/1.1 ${status} `)
    expect(head).not.toContain('strict-transport')
    expect(head).toContain('\r\ncache-control: no-store')
  })
})
