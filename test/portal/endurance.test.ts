/**
 * A working day of an open page in accelerated time: what the page holds does not grow with the events that it shows.
 *
 * `BRIDGE_PAGE_HOURS=8` is a day with 20,000 records. Without it the test is skipped.
 */
import type { CDPSession } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { type Chromium, inChromium, startChromium, type Visitor } from './chromium.ts'
import { stillness } from './looks/still.ts'
import { signIn } from './sign-in.ts'

const hours = Number(process.env.BRIDGE_PAGE_HOURS ?? 0)
const recordsAnHour = 2500
const stepsAnHour = 60

const sections = ['Agents', 'Conversations', 'Tasks', 'Transfers', 'Pairs', 'Audit', 'Overview']

inChromium('an open page', () => {
  let bridge: TestBridge
  let chromium: Chromium
  let visitor: Visitor
  let devTools: CDPSession

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
    devTools = await page.context().newCDPSession(page)
    await devTools.send('Performance.enable')
  })
  afterAll(async () => {
    await chromium?.close()
    await bridge?.close()
  })

  /** Opens each section of the project and comes back. */
  const walk = async () => {
    const { page } = visitor
    const still = stillness(page)
    for (const name of sections) {
      await page.getByRole('navigation').getByRole('link', { name, exact: true }).click()
      await page.clock.runFor(1000)
      await still()
    }
  }

  const held = async () => {
    for (let round = 0; round < 3; round += 1) await devTools.send('HeapProfiler.collectGarbage')
    const { metrics } = await devTools.send('Performance.getMetrics')
    const of = (name: string) => metrics.find((each) => each.name === name)?.value ?? Number.NaN
    return { heap: of('JSHeapUsedSize'), nodes: of('Nodes'), listeners: of('JSEventListeners') }
  }

  /** An hour of messages of two agents. Each message has two records: stored, and acknowledged. */
  const hour = async () => {
    const { page } = visitor
    const { ada, ben, clock } = bridge
    const id = await ada.conversationWith(ben.id)
    for (let step = 0; step < stepsAnHour; step += 1) {
      const say = async (count: number) => {
        const { id: sent } = await ada.send(id, ben.id, `Step ${step}, message ${count}.`)
        await ben.acknowledge(sent)
      }
      const messages = Math.ceil(recordsAnHour / stepsAnHour / 2)
      await Promise.all(Array.from({ length: messages }, (_, count) => say(count)))
      clock.advance(3600 / stepsAnHour)
      await page.clock.runFor((1000 * 3600) / stepsAnHour)
      // After an hour without a key the page pauses.
      await page.keyboard.press('Shift')
    }
  }

  test.skipIf(hours === 0)(
    'holds no more after a day than after its second hour',
    async () => {
      const { page } = visitor
      const all: Awaited<ReturnType<typeof held>>[] = []
      for (let done = 1; done <= hours; done += 1) {
        await hour()
        await walk()
        all.push(await held())
        const { heap, nodes, listeners } = all.at(-1) ?? { heap: 0, nodes: 0, listeners: 0 }
        process.stdout.write(
          `hour ${done}: heap ${(heap / 1024).toFixed()} KiB, ${nodes} nodes, ${listeners} listeners\n`,
        )
      }
      // The first hour loads the screens.
      const [first, last] = [all[1], all.at(-1)]
      if (first === undefined || last === undefined) throw new Error('nothing was measured')
      expect(last.heap / first.heap).toBeLessThan(1.1)
      expect(last.nodes / first.nodes).toBeLessThan(1.1)
      expect(last.listeners / first.listeners).toBeLessThan(1.1)
      expect(await page.locator('.activity li').count()).toBeGreaterThan(50)
      expect(await page.getByText('Unavailable').count()).toBe(0)
      expect(visitor.faults).toEqual([])
    },
    3_600_000,
  )
})
