/** A hidden tab sends nothing, and catches up when somebody looks at it. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { type Chromium, inChromium, startChromium, type Visitor } from './chromium.ts'
import { signIn } from './sign-in.ts'

inChromium('a hidden tab', () => {
  let bridge: TestBridge
  let chromium: Chromium
  let visitor: Visitor

  beforeAll(async () => {
    ;[bridge, chromium] = await Promise.all([startBridge(), startChromium()])
    visitor = await chromium.visitor(bridge.url)
    await visitor.page.clock.install()
    await signIn(visitor.page, bridge.url)
  })
  afterAll(async () => {
    await chromium.close()
    await bridge.close()
  })

  test('sends no request after 15 seconds, and shows what came when it is visible again', async () => {
    const { page } = visitor
    const { ada, ben, project } = bridge
    const conversation = await ada.conversationWith(ben.id)
    await ada.send(conversation, ben.id, 'before')
    await page.goto(`${bridge.url}/projects/${project.id}/conversations/${conversation}`)
    await page.getByText('before', { exact: true }).waitFor()
    const become = (state: string) =>
      page.evaluate(`(() => {
        Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true })
        document.dispatchEvent(new Event('visibilitychange'))
      })()`)
    await become('hidden')
    await page.clock.runFor(16_000)
    let requests = 0
    page.on('request', () => {
      requests += 1
    })
    const during = async (ms: number) => {
      const before = requests
      await page.clock.runFor(ms)
      return requests - before
    }
    // Reads that began before are answered first.
    await expect.poll(() => during(6000)).toBe(0)
    expect(await during(120_000)).toBe(0)
    await ada.send(conversation, ben.id, 'while it was hidden')
    expect(await during(6000)).toBe(0)
    await become('visible')
    await expect
      .poll(async () => {
        await page.clock.runFor(1000)
        return page.getByText('while it was hidden', { exact: true }).count()
      })
      .toBe(1)
    expect(visitor.faults).toEqual([])
  })
})
