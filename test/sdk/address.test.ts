import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseBaseUrl, targetOf, urlOf } from '../../sdk/transport/address.ts'

test.each([
  ['https://bridge.example', 'https://bridge.example', ''],
  ['https://bridge.example/', 'https://bridge.example', ''],
  ['https://bridge.example:8443/team/bridge/', 'https://bridge.example:8443', '/team/bridge'],
  ['http://127.0.0.1:4000', 'http://127.0.0.1:4000', ''],
  ['http://localhost:4000', 'http://localhost:4000', ''],
  ['http://node.localhost', 'http://node.localhost', ''],
  ['http://[::1]:4000', 'http://[::1]:4000', ''],
])('%s is a usable address', (text, origin, prefix) => {
  expect(parseBaseUrl(text)).toEqual({ origin, prefix })
})

test.each([
  ['bridge.example', 'invalid_url'],
  ['ftp://bridge.example', 'invalid_url'],
  ['', 'invalid_url'],
  ['https://ada:secret@bridge.example', 'invalid_url'],
  ['https://bridge.example/?a=1', 'invalid_url'],
  ['https://bridge.example/#setup', 'invalid_url'],
  ['http://bridge.example', 'insecure_url'],
  ['http://10.0.0.5:4000', 'insecure_url'],
  ['http://127.0.0.1.example', 'insecure_url'],
  ['http://localhost.example', 'insecure_url'],
])('%s is refused as %s', (text, code) => {
  expect(() => parseBaseUrl(text)).toThrow(expect.objectContaining({ name: 'LocalError', code }))
})

test('plain http beyond this machine requires the explicit option', () => {
  expect(parseBaseUrl('http://10.0.0.5:4000', { allowPlainHttp: true }).origin).toBe('http://10.0.0.5:4000')
})

test('no refusal repeats the content of the address', () => {
  for (const text of ['https://ada:hunter22@bridge.example', 'https://bridge.example/?token=hunter22']) {
    expect(() => parseBaseUrl(text)).toThrow(expect.not.stringContaining('hunter22'))
  }
})

test('a target contains its parameters and query, without undefined values', () => {
  expect(targetOf('/api/v1/inbox', {}, { wait_seconds: 20, limit: undefined })).toBe(
    '/api/v1/inbox?wait_seconds=20',
  )
  expect(targetOf('/api/v1/messages/{id}', { id: 'a b' })).toBe('/api/v1/messages/a%20b')
})

test.each(['', '.', '..', undefined])(
  'a parameter %j, which would lead to another endpoint, is refused',
  (id) => {
    expect(() => targetOf('/api/v1/messages/{id}', { id })).toThrow(TypeError)
  },
)

test('the signed target is the sent one, behind any prefix', () => {
  const address = { origin: 'https://bridge.example', prefix: '/team' }
  const value = fc.string({ minLength: 1, unit: 'grapheme' }).filter((text) => !['.', '..'].includes(text))
  fc.assert(
    fc.property(value, fc.string({ unit: 'grapheme' }), (id, query) => {
      const target = targetOf('/api/v1/messages/{id}', { id }, { after: query })
      expect(target).toMatch(/^[\x21-\x7e]+$/)
      const url = new URL(urlOf(address, target))
      expect(`${url.pathname}${url.search}`).toBe(`/team${target}`)
      expect(decodeURIComponent(url.pathname.slice('/team/api/v1/messages/'.length))).toBe(id)
      expect(url.searchParams.get('after')).toBe(query)
    }),
  )
})

test('a target that a URL parser would change is not sent', () => {
  expect(() => urlOf({ origin: 'https://bridge.example', prefix: '' }, '/api/v1/../admin')).toThrow(TypeError)
})
