/**
 * A working day of an open page in accelerated time: what the page holds does not grow with the events that it shows.
 *
 * `BRIDGE_PAGE_HOURS=8` is a day with 20,000 records. Without it the test is skipped.
 *
 * The heap of the page has the scripts of the instruments in it too. So the hours use clicks at fixed places and bare
 * expressions instead of locators: the engine compiles the code of locators hour after hour.
 */
import type { CDPSession, Request } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { type Chromium, inChromium, startChromium, type Visitor } from './chromium.ts'
import { heldBy } from './looks/costs.ts'
import { requestsInFlight } from './looks/still.ts'
import { signIn } from './sign-in.ts'

const hours = Number(process.env.BRIDGE_PAGE_HOURS ?? 0)
const recordsAnHour = 2500
/** The page hears from the node every five seconds. After eight without an answer it would draw a silent node. */
const stepsAnHour = 600
const walksAnHour = 6

const sections = ['Agents', 'Conversations', 'Tasks', 'Transfers', 'Pairs', 'Audit', 'Overview']

/** Middle of the link of a section, and its address. */
interface Place {
  readonly x: number
  readonly y: number
  readonly url: string
}

inChromium('an open page', () => {
  let bridge: TestBridge
  let chromium: Chromium
  let visitor: Visitor
  let devTools: CDPSession
  let inFlight: ReadonlySet<Request>
  let places: Place[]

  beforeAll(async () => {
    if (hours === 0) return
    ;[bridge, chromium] = await Promise.all([startBridge(), startChromium()])
    const { owner, project } = bridge
    await owner.ok({
      target: `/api/admin/projects/${project.id}/profile`,
      body: { policy: { message_budget: 1_000_000 } },
    })
    visitor = await chromium.visitor(bridge.url)
    const { page } = visitor
    await page.clock.install({ time: bridge.clock() })
    await signIn(page, bridge.url, `/projects/${project.id}`)
    await page.getByRole('rowheader', { name: 'ada' }).waitFor()
    inFlight = requestsInFlight(page)
    devTools = await page.context().newCDPSession(page)
    await devTools.send('Performance.enable')
    places = await Promise.all(sections.map(placeOf))
  })
  afterAll(async () => {
    await chromium?.close()
    await bridge?.close()
  })

  const evaluate = async <T>(expression: string): Promise<T> => {
    const how = { awaitPromise: true, returnByValue: true }
    return (await devTools.send('Runtime.evaluate', { expression, ...how })).result.value
  }

  const placeOf = (name: string): Promise<Place> =>
    evaluate(`(() => {
      const link = [...document.querySelectorAll('nav a')].find((each) => each.textContent === '${name}')
      const { left, right, top, bottom } = link.getBoundingClientRect()
      return { x: (left + right) / 2, y: (top + bottom) / 2, url: link.href }
    })()`)

  /** Returns the heading after the next frame. */
  const drawn = (): Promise<string> =>
    evaluate(`new Promise((done) => requestAnimationFrame(() =>
      setTimeout(() => done(document.querySelector('h1')?.textContent ?? ''))))`)

  /** Opens each section of the project and comes back. */
  const walk = async () => {
    const { page } = visitor
    for (const { x, y, url } of places) {
      const before = await drawn()
      await page.mouse.click(x, y)
      await page.waitForURL(url)
      bridge.clock.advance(1)
      await page.clock.runFor(1000)
      while ((await drawn()) === before || inFlight.size > 0);
    }
  }

  /**
   * What the page holds at rest, without garbage. The least of ten readings counts: an answer that the page takes in
   * adds 250 KiB and some listeners for a moment.
   */
  const held = async () => {
    const heap = await heldBy(visitor)
    const readings: { whole: number; nodes: number; listeners: number }[] = []
    for (let reading = 0; reading < 10; reading += 1) {
      bridge.clock.advance(1)
      await visitor.page.clock.runFor(1000)
      await drawn()
      // After one collection, 280 KiB may be counted that no heap snapshot has.
      for (let round = 0; round < 3; round += 1) await devTools.send('HeapProfiler.collectGarbage')
      const { metrics } = await devTools.send('Performance.getMetrics')
      const of = (name: string) => metrics.find((each) => each.name === name)?.value ?? Number.NaN
      readings.push({ whole: of('JSHeapUsedSize'), nodes: of('Nodes'), listeners: of('JSEventListeners') })
    }
    const least = readings.reduce((one, other) => (other.whole < one.whole ? other : one))
    return { ...heap, ...least }
  }

  /** An hour of messages of two agents. Each message has two records: stored, and acknowledged. */
  const hour = async () => {
    const { page } = visitor
    const { ada, ben, clock } = bridge
    const id = await ada.conversationWith(ben.id)
    const say = async (count: number) => {
      const { id: sent } = await ada.send(id, ben.id, `Message ${count}.`)
      await ben.acknowledge(sent)
    }
    for (let step = 1; step <= stepsAnHour; step += 1) {
      const due = (steps: number) => Math.ceil((steps * recordsAnHour) / stepsAnHour / 2)
      for (let count = due(step - 1); count < due(step); count += 1) await say(count)
      clock.advance(3600 / stepsAnHour)
      await page.clock.runFor((1000 * 3600) / stepsAnHour)
      // After an hour without a key the page pauses.
      if (step % (stepsAnHour / 60) === 0) await page.keyboard.press('Shift')
      if (step % (stepsAnHour / walksAnHour) === 0) await walk()
    }
  }

  test.skipIf(hours === 0)(
    'holds no more after a day than after its second hour',
    async () => {
      const { page } = visitor
      const all: Awaited<ReturnType<typeof held>>[] = []
      for (let done = 1; done <= hours; done += 1) {
        await hour()
        all.push(await held())
        const { whole = 0, data = 0, code = 0, nodes, listeners } = all.at(-1) ?? {}
        const kib = (bytes: number) => `${(bytes / 1024).toFixed()} KiB`
        process.stdout.write(
          `hour ${done}: heap ${kib(whole)}, data ${kib(data)}, code ${kib(code)}, ${nodes} nodes, ${listeners} listeners\n`,
        )
      }
      // The first hour loads the screens.
      const [first, last] = [all[1], all.at(-1)]
      if (first === undefined || last === undefined) throw new Error('nothing was measured')
      expect(last.data / first.data).toBeLessThan(1.1)
      expect(last.nodes / first.nodes).toBeLessThan(1.1)
      expect(last.listeners / first.listeners).toBeLessThan(1.1)
      // The code that the engine compiles while a function is in use counts too.
      expect(last.whole / first.whole).toBeLessThan(1.1)
      expect(await page.locator('.activity li').count()).toBeGreaterThan(50)
      expect(await page.getByText('Unavailable').count()).toBe(0)
      expect(visitor.faults).toEqual([])
    },
    3_600_000,
  )
})
