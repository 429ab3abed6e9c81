/** The size of the owner's page, its requests, and who never loads it. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { pageFiles } from '../../server/portal/files.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { startServerProcess } from '../support/process.ts'
import { TestHome } from '../support/test-home.ts'
import { type Chromium, inChromium, startChromium, type Visitor } from './chromium.ts'
import { stillness } from './looks/still.ts'
import { signIn } from './sign-in.ts'

const kib = 1024

/** Names of the page's files with their sizes as gzip. */
async function sizes(): Promise<Map<string, number>> {
  const files = [...(await pageFiles())]
  return new Map(files.map(([name, { answer }]) => [name, answer.variants.gzip.length]))
}

const total = (all: Iterable<number>): number => [...all].reduce((sum, each) => sum + each, 0)

inChromium('a visit', () => {
  let bridge: TestBridge
  let chromium: Chromium
  let visitor: Visitor
  const requests: string[] = []
  const cached: string[] = []

  beforeAll(async () => {
    ;[bridge, chromium] = await Promise.all([startBridge(), startChromium()])
    visitor = await chromium.visitor(bridge.url)
    const network = await visitor.page.context().newCDPSession(visitor.page)
    await network.send('Network.enable')
    network.on('Network.responseReceived', ({ response }) => {
      const { pathname } = new URL(response.url)
      requests.push(pathname)
      if (response.fromDiskCache) cached.push(pathname)
    })
    network.on('Network.requestServedFromCache', () => cached.push('memory'))
  })
  afterAll(async () => {
    await chromium.close()
    await bridge.close()
  })

  const loaded = () => requests.map((path) => basename(path))

  test('begins with at most 60 KiB of scripts and 10 KiB of styles, in at most six requests', async () => {
    const still = stillness(visitor.page)
    await visitor.page.goto(`${bridge.url}/sign-in`)
    await still()
    const all = await sizes()
    const sizeOf = (end: string) =>
      total(loaded().flatMap((name) => (name.endsWith(end) ? (all.get(name) ?? []) : [])))
    expect(sizeOf('.js')).toBeGreaterThan(10 * kib)
    expect(sizeOf('.js')).toBeLessThan(60 * kib)
    expect(sizeOf('.css')).toBeGreaterThan(kib)
    expect(sizeOf('.css')).toBeLessThan(10 * kib)
    expect(requests.length).toBeLessThanOrEqual(6)
  })

  test('needs no more of the page for the overview', async () => {
    const before = new Set(loaded().filter((name) => /\.(js|css)$/.test(name)))
    await signIn(visitor.page, bridge.url, `/projects/${bridge.project.id}`)
    await visitor.page.getByRole('rowheader', { name: 'ada' }).waitFor()
    expect(new Set(loaded().filter((name) => /\.(js|css)$/.test(name)))).toEqual(before)
  })

  test('that is the second one loads no file again', async () => {
    const still = stillness(visitor.page)
    requests.length = cached.length = 0
    await visitor.page.goto(`${bridge.url}/projects/${bridge.project.id}`)
    await still()
    const files = requests.filter((path) => path.startsWith('/assets/'))
    expect(files.length).toBeGreaterThanOrEqual(2)
    expect(cached.length).toBeGreaterThanOrEqual(files.length)
    expect(requests).toContain(`/projects/${bridge.project.id}`)
  })
})

test('all scripts together have at most 140 KiB', async () => {
  const all = [...(await sizes())].filter(([name]) => name.endsWith('.js'))
  expect(all.length).toBeGreaterThan(3)
  expect(total(all.map(([, size]) => size))).toBeLessThan(140 * kib)
})

describe('the files of the page', () => {
  let folder: string
  let home: TestHome

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'loaded-'))
    home = await TestHome.make()
    await writeFile(
      join(folder, 'list.cjs'),
      `process.on('exit', () => require('node:fs').writeFileSync(process.env.BRIDGE_LOADED,
        Object.keys(require.cache).map((path) => require('node:path').basename(path)).join('\\n')))`,
    )
  })
  afterAll(async () => {
    await home.remove()
    await rm(folder, { recursive: true })
  })
  afterEach(() => vi.unstubAllEnvs())

  const environment = () => ({
    NODE_OPTIONS: `--require ${join(folder, 'list.cjs')}`,
    BRIDGE_LOADED: join(folder, 'loaded'),
  })
  const loaded = async () => (await readFile(join(folder, 'loaded'), 'utf8')).split('\n')

  test.each([[['--version']], [['send', 'ben', 'hello']]])('are not loaded by bridge %j', async (words) => {
    await home.run(words, { environment: environment() })
    expect(await loaded()).toContain('bridge.cjs')
    expect(await loaded()).not.toContain('portal.cjs')
  })

  test('are loaded by a server at the first visit only', async () => {
    for (const visits of [0, 1]) {
      // A process of the node lists its files when it exits.
      for (const [name, value] of Object.entries(environment())) vi.stubEnv(name, value)
      const server = await startServerProcess()
      vi.unstubAllEnvs()
      if (visits > 0) await fetch(`${server.url}/`)
      await fetch(`${server.url}/api/health`)
      await server.kill('SIGTERM')
      const files = await loaded()
      expect(files).toContain('server.cjs')
      expect(files.includes('portal.cjs')).toBe(visits > 0)
      await server.close()
    }
  })
})
