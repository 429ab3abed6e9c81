/**
 * The node listens beyond loopback only with TLS or behind listed proxies; each refusal gives the reason and
 * the remedy.
 */
import { describe, expect, test } from 'vitest'
import { readConfig } from '../../../server/config.ts'
import { ConfigError } from '../../../server/config-error.ts'
import { createClientAddress } from './peers.ts'

const data = '/nowhere'
const tls = { tls_cert: '/c.pem', tls_key: '/k.pem' }
const origin = { portal_origin: 'https://bridge.example' }

describe('the configuration is refused:', () => {
  const cases: [string, Record<string, string>, RegExp][] = [
    [
      'plain HTTP beyond loopback, with both remedies',
      { host: '0.0.0.0' },
      /unencrypted; set tls_cert and tls_key, or list your TLS proxies in trusted_proxy$/,
    ],
    ['the same on one address', { host: '192.0.2.1', ...origin }, /not a loopback address/],
    ['the same on IPv6', { host: '::', ...origin }, /not a loopback address/],
    ['a name', { host: 'bridge.example', ...tls }, /host must be an IP address.*portal_origin/],
    ['a certificate without its key', { tls_cert: '/c.pem' }, /tls_cert requires tls_key/],
    ['a key without its certificate', { tls_key: '/k.pem' }, /tls_key requires tls_cert/],
    ['TLS with an origin of plain HTTP', { ...tls, portal_origin: 'http://localhost:8484' }, /must be https/],
    ['TLS on all addresses without an origin', { host: '0.0.0.0', ...tls }, /portal_origin is required/],
    ['the same on IPv6', { host: '::0', ...tls }, /portal_origin is required/],
    [
      'a proxy without the origin that it serves',
      { host: '0.0.0.0', trusted_proxy: '10.0.0.1' },
      /portal_origin must be the https origin of the proxy/,
    ],
    ['a proxy by name', { trusted_proxy: 'proxy.example' }, /addresses or subnets.*"proxy\.example"/],
    ['a subnet that is too narrow', { trusted_proxy: '10.0.0.0/33' }, /not "10\.0\.0\.0\/33"/],
    ['a subnet without a length', { trusted_proxy: '10.0.0.0/' }, /not "10\.0\.0\.0\/"/],
    ['all addresses as proxies', { trusted_proxy: '127.0.0.1, ::/0' }, /must not include all addresses/],
  ]
  test.each(cases)('%s', (_name, flags, message) => {
    expect(() => readConfig({ data, ...flags }, {})).toThrow(message)
    expect(() => readConfig({ data, ...flags }, {})).toThrow(ConfigError)
  })
})

describe('the configuration is accepted:', () => {
  const cases: [string, Record<string, string>, object][] = [
    ['loopback by default', {}, { host: '127.0.0.1', tls: undefined, trustedProxies: [] }],
    ['the whole of 127/8', { host: '127.0.0.2' }, { host: '127.0.0.2' }],
    [
      'TLS on all addresses, with an origin',
      { host: '0.0.0.0', ...tls, ...origin },
      { host: '0.0.0.0', tls: { cert: '/c.pem', key: '/k.pem' }, portalOrigin: 'https://bridge.example' },
    ],
    ['TLS at one address, which then is its origin', { host: '192.0.2.1', ...tls }, { portalOrigin: '' }],
    [
      'a list of proxies',
      { host: '::', trusted_proxy: '10.0.0.0/8, fd00::/8,192.0.2.7', ...origin },
      { trustedProxies: ['10.0.0.0/8', 'fd00::/8', '192.0.2.7'] },
    ],
    ['a proxy of this machine', { trusted_proxy: '127.0.0.1', ...origin }, { host: '127.0.0.1' }],
  ]
  test.each(cases)('%s', (_name, flags, found) => {
    expect(readConfig({ data, ...flags }, {})).toMatchObject(found)
  })
})

describe('the address of a client', () => {
  const behind = createClientAddress({ trustedProxies: ['10.0.0.0/8', '2001:db8::/32'] })

  test.each([
    ['is that of the connection', '192.0.2.1', undefined, '192.0.2.1'],
    ['is not taken from the header of a client', '192.0.2.1', '203.0.113.9', '192.0.2.1'],
    ['is the one in the header of a listed proxy', '10.1.2.3', '203.0.113.9', '203.0.113.9'],
    [
      'is the one in its header, if it connects with a mapped IPv6 address',
      '::ffff:10.1.2.3',
      '203.0.113.9',
      '203.0.113.9',
    ],
    ['is the one in the header of a proxy over IPv6', '2001:db8::1', '203.0.113.9', '203.0.113.9'],
    [
      'is the last address that is not a listed proxy',
      '10.0.0.1',
      '1.1.1.1, 203.0.113.9, 10.9.9.9',
      '203.0.113.9',
    ],
    ['is the proxy, if it sends no header', '10.0.0.1', undefined, '10.0.0.1'],
    ['is the proxy, if its header has no address', '10.0.0.1', '1.1.1.1, unknown', '10.0.0.1'],
    ['is the proxy, if its header names only proxies', '10.0.0.1', '10.0.0.2', '10.0.0.1'],
  ])('%s', (_name, peer, forwarded, address) => {
    expect(behind(peer, forwarded, { tls: true })).toBe(address)
  })

  test('is not determined if only a proxy may use plain HTTP and the peer is none', () => {
    expect(() => behind('192.0.2.1', undefined)).toThrow(
      /only a trusted proxy may use; use the https address/,
    )
    expect(behind('127.0.0.1', '203.0.113.9')).toBe('127.0.0.1')
    expect(behind('10.0.0.1', '203.0.113.9')).toBe('203.0.113.9')
  })
})
