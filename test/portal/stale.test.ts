/** Old data never looks live: the page says so when the node is silent, and recovers by itself. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { setUpOwner, type TestOwner } from '../support/owner.ts'
import { type ServerProcess, startServerProcess } from '../support/process.ts'
import { type Chromium, inChromium, startChromium, type Visitor } from './chromium.ts'
import { signIn } from './sign-in.ts'

inChromium('a silent node', () => {
  let server: ServerProcess
  let chromium: Chromium
  let visitor: Visitor
  let owner: TestOwner
  let project: { id: string }

  beforeAll(async () => {
    ;[server, chromium] = await Promise.all([startServerProcess(), startChromium()])
    owner = await setUpOwner(server.url, server.setupLink)
    project = await owner.createProject('demo')
    await owner.createAgent(project.id, 'ada')
    visitor = await chromium.visitor(server.url)
    const { page } = visitor
    await page.clock.install()
    await signIn(page, server.url, `/projects/${project.id}`)
    await page.getByRole('heading', { level: 1, name: 'demo' }).waitFor()
  })
  afterAll(async () => {
    await chromium.close()
    await server.close()
  })

  const silence = () => visitor.page.getByText(/^Nothing heard from the node since/)
  const unavailable = () => visitor.page.getByRole('cell', { name: 'Unavailable' })

  test('is announced, and turns the words of presence to Unavailable after 30 seconds', async () => {
    const { page, picture } = visitor
    expect(await silence().isVisible()).toBe(false)
    expect(await unavailable().count()).toBe(0)
    const place = () => page.getByRole('rowheader', { name: 'ada' }).boundingBox()
    const before = await place()
    process.kill(server.pid, 'SIGSTOP')
    try {
      await page.clock.runFor(10_000)
      await silence().waitFor()
      expect(await place()).toEqual(before)
      expect(await unavailable().count()).toBe(0)
      await page.clock.runFor(22_000)
      await expect.poll(() => unavailable().count()).toBe(4)
      expect(await page.getByRole('rowheader', { name: 'ada' }).count()).toBe(1)
      await picture('stale')
    } finally {
      process.kill(server.pid, 'SIGCONT')
    }
  })

  test('that answers again makes the words live, without a reload', async () => {
    const { page } = visitor
    await expect
      .poll(async () => {
        await page.clock.runFor(1000)
        return unavailable().count()
      })
      .toBe(0)
    expect(await silence().isVisible()).toBe(false)
    await owner.createAgent(project.id, 'ben')
    await expect
      .poll(async () => {
        await page.clock.runFor(1000)
        return page.getByRole('rowheader', { name: 'ben' }).count()
      })
      .toBe(1)
    expect(visitor.faults).toEqual([])
  })

  test('gets no request from a page that nobody has touched for an hour', async () => {
    const { page } = visitor
    const requests: string[] = []
    await page.clock.fastForward(3_600_001)
    await page.getByText(/^Paused: nothing was touched for an hour/).waitFor()
    page.on('request', (request) => requests.push(request.url()))
    await page.clock.runFor(60_000)
    expect(requests).toEqual([])
    await page.keyboard.press('Shift')
    await expect
      .poll(async () => {
        await page.clock.runFor(1000)
        return unavailable().count()
      })
      .toBe(0)
    expect(requests.length).toBeGreaterThan(0)
  })

  test('gets no request from a page that was hidden for 15 seconds, and shows what it missed after', async () => {
    const { page } = visitor
    const become = (state: string) =>
      page.evaluate(
        `Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true });
         void document.dispatchEvent(new Event('visibilitychange'))`,
      )
    await become('hidden')
    await page.clock.runFor(15_100)
    const requests: string[] = []
    page.on('request', (request) => requests.push(request.url()))
    await owner.createAgent(project.id, 'cleo')
    await page.clock.runFor(60_000)
    expect(requests).toEqual([])
    expect(await page.getByRole('rowheader', { name: 'cleo' }).count()).toBe(0)
    await become('visible')
    await expect
      .poll(async () => {
        await page.clock.runFor(1000)
        return page.getByRole('rowheader', { name: 'cleo' }).count()
      })
      .toBe(1)
  })

  test('that was killed and started again is shown without a reload, with what happened between', async () => {
    const { page } = visitor
    await page.evaluate('void (window.isSame = true)')
    await server.kill('SIGKILL')
    await expect
      .poll(async () => {
        await page.clock.runFor(2000)
        return silence().isVisible()
      })
      .toBe(true)
    expect(await page.getByRole('rowheader', { name: 'ada' }).count()).toBe(1)
    await server.start()
    await owner.createAgent(project.id, 'dan')
    await expect
      .poll(async () => {
        await page.clock.runFor(1000)
        return page.getByRole('rowheader', { name: 'dan' }).count()
      })
      .toBe(1)
    expect(await silence().isVisible()).toBe(false)
    expect(await page.evaluate('window.isSame')).toBe(true)
  })
})
