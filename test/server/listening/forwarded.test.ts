/**
 * Failed authentications are counted per client address. Behind a listed proxy this is the address in the
 * proxy's header, otherwise the address of the connection; other headers have no influence.
 *
 * The listed proxy is 127.0.0.2; a client at 127.0.0.1 is not a proxy.
 */
import { request } from 'node:http'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { startBridge, type TestBridge } from '../../support/bridge.ts'

let bridge: TestBridge
beforeEach(async () => {
  bridge = await startBridge({ settings: { trusted_proxy: '127.0.0.2', failed_auth_per_minute: '2' } })
})
afterEach(() => bridge.close())

const proxy = '127.0.0.2'
const stranger = '127.0.0.1'

interface Target {
  readonly path: string
  readonly method?: string
}

/** Sends a request without a credential; returns the status. */
const fail = (
  localAddress: string,
  forwarded: string,
  target: Target = { path: '/api/v1/peers' },
): Promise<number> =>
  new Promise((resolve, reject) => {
    const headers = { 'x-forwarded-for': forwarded }
    const { port } = bridge.server
    request({ host: '127.0.0.1', port, localAddress, headers, ...target }, (response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
      .once('error', reject)
      .end()
  })

const failures = async (localAddress: string, forwarded: readonly string[]): Promise<number[]> => {
  const statuses: number[] = []
  for (const each of forwarded) statuses.push(await fail(localAddress, each))
  return statuses
}

test('a client cannot get a new count by claiming new addresses', async () => {
  const named = ['203.0.113.1', '203.0.113.2', '203.0.113.3', '203.0.113.4']
  expect(await failures(stranger, named)).toEqual([401, 401, 429, 429])
})

test('behind the proxy each client has a separate count, whatever it wrote before the address that the proxy adds', async () => {
  const one = ['203.0.113.1', '198.51.100.1, 203.0.113.1', '198.51.100.2, 203.0.113.1', '203.0.113.2']
  expect(await failures(proxy, one)).toEqual([401, 401, 429, 401])
  expect(await fail(stranger, '203.0.113.1')).toBe(401)
})

test('hosts that report their load are counted by the same address', async () => {
  const report = { path: '/api/telemetry/host', method: 'POST' }
  const statuses: number[] = []
  for (const last of [1, 1, 1, 2]) statuses.push(await fail(proxy, `203.0.113.${last}`, report))
  expect(statuses).toEqual([401, 401, 429, 401])
})

test('sockets are counted by the same address', async () => {
  const refused = (localAddress: string, forwarded: string) =>
    new Promise<string>((resolve, reject) => {
      const url = `${bridge.url.replace('http', 'ws')}/api/v1/socket`
      const socket = new WebSocket(url, { localAddress, headers: { 'x-forwarded-for': forwarded } })
      socket.once('open', () => socket.send('{"type":"authenticate","headers":{}}'))
      socket.once('message', (data) => {
        resolve((JSON.parse(String(data)) as { error: { error: string } }).error.error)
        socket.terminate()
      })
      socket.once('error', reject)
    })
  const codes: string[] = []
  for (const last of [1, 1, 1, 2]) codes.push(await refused(proxy, `203.0.113.${last}`))
  expect(codes).toEqual(['unauthenticated', 'unauthenticated', 'rate_limited', 'unauthenticated'])
  codes.length = 0
  for (const last of [1, 2, 3]) codes.push(await refused(stranger, `203.0.113.${last}`))
  expect(codes).toEqual(['unauthenticated', 'unauthenticated', 'rate_limited'])
})
