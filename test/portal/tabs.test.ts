/** Several tabs of one browser: one of them reads for all, and each is current. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { type Chromium, inChromium, startChromium, type Visitor } from './chromium.ts'
import { signIn } from './sign-in.ts'

inChromium('seven tabs', () => {
  let bridge: TestBridge
  let chromium: Chromium
  let visitor: Visitor

  beforeAll(async () => {
    ;[bridge, chromium] = await Promise.all([startBridge(), startChromium()])
    visitor = await chromium.visitor(bridge.url)
    await signIn(visitor.page, bridge.url)
  })
  afterAll(async () => {
    await chromium.close()
    await bridge.close()
  })

  test('load and stay current with one wait at the node', async () => {
    const context = visitor.page.context()
    const tabs = await Promise.all(Array.from({ length: 7 }, () => context.newPage()))
    const waits = new Set<unknown>()
    for (const tab of tabs) {
      tab.on('request', (request) => {
        if (request.url().includes('/events')) waits.add(tab)
      })
      await tab.goto(`${bridge.url}/projects/${bridge.project.id}`)
      await tab.getByRole('heading', { level: 1, name: 'demo' }).waitFor()
    }
    await bridge.owner.createAgent(bridge.project.id, 'cleo')
    for (const tab of tabs) await tab.getByRole('rowheader', { name: 'cleo' }).waitFor()
    expect(waits.size).toBe(1)

    const [leader] = tabs.filter((tab) => waits.has(tab))
    await leader?.close()
    await bridge.owner.createAgent(bridge.project.id, 'dan')
    for (const tab of tabs) if (tab !== leader) await tab.getByRole('rowheader', { name: 'dan' }).waitFor()
    await expect.poll(() => waits.size).toBe(2)
    expect(visitor.faults).toEqual([])
  })

  test('of seven projects wait with three requests, and each is current', async () => {
    const projects = await Promise.all(
      Array.from({ length: 7 }, (_, index) => bridge.owner.createProject(`project ${index}`)),
    )
    const open = new Set<unknown>()
    let most = 0
    const tabs = await Promise.all(projects.map(() => visitor.page.context().newPage()))
    for (const [index, tab] of tabs.entries()) {
      tab.on('request', (request) => {
        if (request.url().includes('/events')) most = Math.max(most, open.add(request).size)
      })
      for (const event of ['requestfinished', 'requestfailed'] as const)
        tab.on(event as 'requestfinished', (request) => open.delete(request))
      await tab.goto(`${bridge.url}/projects/${projects[index]?.id}`)
      await tab.getByRole('heading', { level: 1, name: `project ${index}` }).waitFor()
    }
    for (const [index, tab] of tabs.entries()) {
      await bridge.owner.createAgent(projects[index]?.id ?? '', 'eva')
      await tab.getByText('eva', { exact: true }).first().waitFor()
    }
    expect(most).toBeGreaterThan(1)
    expect(most).toBeLessThanOrEqual(3)
    expect(visitor.faults).toEqual([])
  })
})
