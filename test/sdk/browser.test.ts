/** `agent-bridge/browser`: what a page bundles, and its calls against a real node. */
import { gzipSync } from 'node:zlib'
import { build, stop } from 'esbuild'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { contractAsValues } from '../../esbuild.contract.ts'
import { type BrowserOwner, openOwner } from '../../sdk/browser.ts'
import type { Fetch } from '../../sdk/transport/fetch.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'

const root = new URL('../..', import.meta.url).pathname
let bridge: TestBridge

beforeAll(async () => {
  bridge = await startBridge()
})
afterAll(async () => {
  await stop()
  await bridge.close()
})

/** Adds what a browser adds by itself: cookie, Origin and its own User-Agent. */
const asBrowser: Fetch = async (url, init) => {
  const added = { cookie: bridge.owner.cookie, origin: bridge.url, 'user-agent': 'a browser' }
  const response = await fetch(url, { ...init, headers: { ...init.headers, ...added } })
  const [given] = response.headers.getSetCookie()
  if (response.ok && given !== undefined) bridge.owner.cookie = given.split(';')[0] ?? ''
  return response
}

const open = (options: Parameters<typeof openOwner>[0] = {}): BrowserOwner =>
  openOwner({ origin: bridge.url, fetch: asBrowser, ...options })

test('a page bundles it with at most 13 KB, and without a module of Node', async () => {
  const { metafile, outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: ['sdk/browser.ts'],
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2024',
    metafile: true,
    write: false,
    plugins: [contractAsValues(root, { forPage: true })],
  })
  const imported = Object.values(metafile.inputs).flatMap(({ imports }) => imports)
  expect(imported.filter(({ external }) => external)).toEqual([])
  expect(Object.keys(metafile.inputs).filter((path) => !path.startsWith('sdk/'))).toEqual([])
  const [{ contents, text } = { contents: new Uint8Array(), text: '' }] = outputFiles
  expect(text).not.toMatch(/["'`]node:|\bBuffer\.|\bprocess\./)
  expect(gzipSync(contents).length).toBeLessThan(13 * 1024)
})

test('reads and writes as the owner of the cookie', async () => {
  const owner = open()
  expect((await owner.health()).portal_origin).toBe(bridge.url)
  expect((await owner.signIn.current()).user.role).toBe('owner')
  const project = await owner.projects.create({ name: 'from a page' })
  const { project: read } = await owner.projects.snapshot(project.id)
  expect(read).toEqual(project)
  await expect(owner.projects.create({ name: 'from a page' })).rejects.toMatchObject({ code: 'name_taken' })
})

test('asks for the password once after reauth_required, and then repeats the request', async () => {
  const asked: string[] = []
  const owner = open({
    reauthorize: async ({ code }) => {
      asked.push(code)
      return asked.length > 1
    },
  })
  bridge.clock.advance(11 * 60)
  await expect(owner.administrators.create({ name: 'anna' })).rejects.toMatchObject({
    code: 'reauth_required',
  })
  await expect(owner.administrators.create({ name: 'anna' })).rejects.toMatchObject({
    code: 'reauth_required',
  })
  expect(asked).toEqual(['reauth_required', 'reauth_required'])
})

test('a call that is aborted waits for no answer to the question, which names the method', async () => {
  const abort = new AbortController()
  const asked: string[] = []
  const owner = open({
    reauthorize: async (_refusal, { method }) => {
      asked.push(method)
      abort.abort()
      return new Promise<boolean>(() => {})
    },
  })
  bridge.clock.advance(11 * 60)
  const call = owner.administrators.create({ name: 'berta' }, { signal: abort.signal })
  await expect(call).rejects.toMatchObject({ code: 'reauth_required' })
  expect(asked).toEqual(['POST'])
})

test('bypasses the cache of the browser and follows no redirect', async () => {
  const inits: (RequestInit | undefined)[] = []
  vi.stubGlobal('fetch', async (_url: string, init?: RequestInit) => {
    inits.push(init)
    return Response.error()
  })
  await expect(openOwner({ origin: bridge.url }).health()).rejects.toMatchObject({ code: 'redirected' })
  expect(inits[0]).toMatchObject({ cache: 'no-store', credentials: 'same-origin', redirect: 'manual' })
  expect(Object.keys(inits[0]?.headers ?? {})).toEqual(['accept'])
})
