/** The node serves the owner's page: which paths, with which headers, and to whom. Contract §11. */
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { pageFiles } from '../../server/portal/files.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { exchange } from '../support/http.ts'

let bridge: TestBridge

beforeAll(async () => {
  bridge = await startBridge()
  await pageFiles()
})
afterAll(() => bridge.close())

const get = (target: string, headers: [string, string][] = [], method = 'GET') =>
  exchange(bridge.url, { method, target, headers })

const assetsOf = (html: string): string[] =>
  [...html.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, at = '']) => at)

const project = '/projects/01890000-0000-7000-8000-000000000000'
const pages = [
  '/',
  '/setup',
  '/sign-in',
  project,
  `${project}/agents`,
  '/audit',
  '/people',
  '/node',
  '/settings',
]

test.each(pages)('%s is the page, which no cache keeps', async (path) => {
  const { status, headers, text } = await get(path)
  expect([status, text]).toEqual([200, (await get('/')).text])
  expect(headers).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'x-frame-options': 'DENY',
  })
  expect(headers['content-security-policy']).toBe(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; " +
      "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  )
})

test('the page has no inline script, style or handler, and names no other host', async () => {
  const { text } = await get('/')
  expect(text).not.toMatch(/<style|\sstyle=|\son\w+=|<script(?![^>]* src=)[^>]*>|https?:|\/\//)
})

test('no source of the page writes HTML text or runs text', async () => {
  const files = [...(await pageFiles())].filter(([name]) => name.endsWith('.js'))
  expect(files.length).toBeGreaterThan(1)
  for (const [, { answer }] of files)
    expect(answer.variants.identity.toString()).not.toMatch(
      /insertAdjacentHTML|document\.write|\beval\(|new Function|outerHTML\s*=|srcdoc/,
    )
})

test('an asset may be cached for ever, in each coding', async () => {
  const assets = assetsOf((await get('/')).text)
  expect(assets).toHaveLength(3)
  for (const path of assets) {
    expect(path).toMatch(/^\/assets\/[a-z]+\.[A-Za-z0-9]{8}\.(js|css|svg)$/)
    const plain = await get(path)
    expect([plain.status, plain.headers['cache-control']]).toEqual([
      200,
      'public, max-age=31536000, immutable',
    ])
    const gzip = await get(path, [['Accept-Encoding', 'gzip']])
    expect([gzip.headers['content-encoding'], gunzipSync(gzip.bytes).equals(plain.bytes)]).toEqual([
      'gzip',
      true,
    ])
    const br = await get(path, [['Accept-Encoding', 'gzip, br']])
    expect([br.headers['content-encoding'], brotliDecompressSync(br.bytes).equals(plain.bytes)]).toEqual([
      'br',
      true,
    ])
    const again = await get(path, [['If-None-Match', String(plain.headers.etag)]])
    expect([again.status, again.text]).toEqual([304, ''])
  }
})

test('the first load is at most 60 KiB of script and 10 KiB of style', async () => {
  const size = async (end: string) => {
    const path = assetsOf((await get('/')).text).find((each) => each.endsWith(end)) ?? ''
    return (await get(path, [['Accept-Encoding', 'gzip']])).bytes.length
  }
  expect(await size('.js')).toBeLessThan(60 * 1024)
  expect(await size('.css')).toBeLessThan(10 * 1024)
})

test.each([
  '/projects',
  '/project/x',
  '/setup/x',
  '/index.html',
  '/favicon.ico',
  '/assets',
  '/api',
  '/SETUP',
])('%s is not found as before, as JSON', async (path) => {
  const { status, json, headers } = await get(path)
  expect([status, (json as { error: string }).error]).toEqual([404, 'not_found'])
  expect(headers['content-security-policy']).toBe("default-src 'none'; frame-ancestors 'none'")
})

const fromBrowser: [string, string][] = [['Accept', 'text/html,application/xhtml+xml,*/*;q=0.8']]

test.each(['/nonsense', '/SETUP', '/index.html'])(
  '%s is the page with status 404 in a browser',
  async (path) => {
    const { status, text, headers } = await get(path, fromBrowser)
    expect([status, text]).toEqual([404, (await get('/')).text])
    expect(headers).toMatchObject({ 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' })
    expect(headers['content-security-policy']).toContain("script-src 'self'")
  },
)

test.each([
  ['/nonsense', [['Accept', '*/*']], 'GET'],
  ['/nonsense', [['Accept', 'application/json']], 'GET'],
  ['/nonsense', fromBrowser, 'POST'],
  ['/api/nonsense', fromBrowser, 'GET'],
  ['/assets/app.00000000.js', fromBrowser, 'GET'],
  ['/client/nonsense', fromBrowser, 'GET'],
] as [string, [string, string][], string][])(
  '%s for %j by %s is not found as JSON',
  async (path, headers, method) => {
    const { status, json } = await get(path, headers, method)
    expect([status, (json as { error: string }).error]).toEqual([404, 'not_found'])
  },
)

test.each(['app.00000000.js', 'index.html', '..%2findex.html', 'a'.repeat(2000)])(
  'the asset %s is not found, and no cache keeps that',
  async (name) => {
    const { status, headers } = await get(`/assets/${name}`)
    expect([status, headers['cache-control']]).toEqual([404, 'no-store'])
  },
)

test.each(['HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS'])('%s is not a method of the page', async (method) => {
  for (const path of ['/', '/setup', `${project}/tasks`, '/assets/app.00000000.js']) {
    const { status, headers } = await get(path, [], method)
    expect([status, headers.allow]).toEqual([405, 'GET'])
  }
})

test('a body and a second Origin are refused', async () => {
  const body = await exchange(bridge.url, { method: 'GET', target: '/', body: 'x' })
  expect(body.status).toBe(422)
  const twice = await get('/', [
    ['Origin', bridge.url],
    ['Origin', bridge.url],
  ])
  expect(twice.status).toBe(422)
})

test('visits share a budget of their address', async () => {
  const settings = { public_per_second: '1', public_burst: '20' }
  const other = await startBridge({ settings, monotonicMs: () => 0 })
  try {
    const statuses: number[] = []
    for (let visit = 0; visit < 22; visit += 1) {
      const target = visit % 2 === 0 ? '/' : '/projects/any'
      statuses.push((await exchange(other.url, { method: 'GET', target })).status)
    }
    expect(statuses.slice(0, 2)).toEqual([200, 200])
    expect(statuses.slice(20)).toEqual([429, 429])
  } finally {
    await other.close()
  }
})
