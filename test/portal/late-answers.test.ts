/** Answers that come late, or in another order than usual: the page misses nothing and takes nothing away. */
import type { Page, Route } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { type Chromium, inChromium, startChromium, type Visitor } from './chromium.ts'
import { signIn } from './sign-in.ts'

inChromium('the page with late answers', () => {
  let bridge: TestBridge
  let chromium: Chromium
  let visitor: Visitor
  let home: string

  beforeAll(async () => {
    ;[bridge, chromium] = await Promise.all([startBridge(), startChromium()])
    visitor = await chromium.visitor(bridge.url)
    home = `${bridge.url}/projects/${bridge.project.id}`
    await signIn(visitor.page, bridge.url)
  })
  afterAll(async () => {
    await chromium.close()
    await bridge.close()
  })

  const api = (end = '') => `**/api/admin/projects/${bridge.project.id}${end}`

  /** Holds requests until the returned function is called, which waits until they have gone on. */
  async function hold(
    page: Page,
    address: string,
    go: (route: Route, released: Promise<void>) => Promise<void> = async (route, released) => {
      await released
      await route.continue()
    },
  ) {
    let release = () => {}
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    await page.route(address, (route) => go(route, released))
    return async () => {
      release()
      await page.unrouteAll({ behavior: 'wait' })
    }
  }

  test('shows a message that came between the first reading and the first sign of life', async () => {
    const { page } = visitor
    const { ada, ben } = bridge
    const id = await ada.conversationWith(ben.id)
    const { id: first } = await ada.send(id, ben.id, 'before')
    await ben.acknowledge(first)
    const goOn = await hold(page, api())
    await page.goto(`${home}/conversations/${id}`)
    await page.getByText('before', { exact: true }).waitFor()
    const { id: second } = await ada.send(id, ben.id, 'between')
    await ben.acknowledge(second)
    await goOn()
    await page.getByText('between', { exact: true }).waitFor()
    await page.getByRole('status').filter({ hasText: '1 new message' }).waitFor()
    expect(visitor.faults).toEqual([])
  })

  test('keeps what is typed while a message is on its way', async () => {
    const { page } = visitor
    const { ada, ben } = bridge
    const id = await ada.conversationWith(ben.id)
    await page.goto(`${home}/conversations/${id}`)
    const box = page.getByLabel('Message')
    await box.fill('the first')
    const goOn = await hold(page, api('/messages'))
    await page.keyboard.press('Control+Enter')
    await page.getByRole('button', { name: 'Sending…' }).waitFor()
    await box.fill('the second')
    await goOn()
    await page.locator('.message').getByText('the first', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Send', exact: true }).waitFor()
    expect(await box.inputValue()).toBe('the second')
    await page.keyboard.press('Control+Enter')
    await page.locator('.message').getByText('the second', { exact: true }).waitFor()
    await expect.poll(() => box.inputValue()).toBe('')
    expect(visitor.faults).toEqual([])
  })
  test.each(['project', 'agent'])('keeps what is typed while the profile of the %s is saved', async (of) => {
    const { page } = visitor
    const agent = `/agents/${bridge.ben.id}`
    await page.goto(`${home}${of === 'agent' ? agent : '/settings'}`)
    const profile = page.getByRole('region', { name: 'Profile', exact: true })
    const [name, description] = [
      profile.getByLabel('Name', { exact: true }),
      profile.getByLabel('Description'),
    ]
    await description.fill('saved')
    const goOn = await hold(page, of === 'agent' ? api(`${agent}/profile`) : api('/profile'))
    await profile.getByRole('button', { name: 'Save' }).click()
    await profile.getByRole('button', { name: 'Saving…' }).waitFor()
    await name.fill(`renamed ${of}`)
    await goOn()
    await page.getByText('Saved.', { exact: true }).waitFor()
    expect(await name.inputValue()).toBe(`renamed ${of}`)
    expect(await description.inputValue()).toBe('saved')
    await profile.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { level: 1, name: `renamed ${of}` }).waitFor()
    expect(await description.inputValue()).toBe('saved')
    expect(visitor.faults).toEqual([])
  })

  test('leaves the focus to a reader who has gone on before the screen is there', async () => {
    const { page } = visitor
    await page.goto(`${home}/tasks`)
    await page.getByRole('heading', { level: 1, name: 'Tasks' }).waitFor()
    const id = await bridge.ada.conversationWith(bridge.ben.id)
    const focused = () => page.evaluate<string>('document.activeElement?.textContent')
    await page.getByRole('link', { name: 'Conversations' }).first().click()
    const link = page.locator(`a[href$="${id}"]`)
    await link.focus()
    const goOn = await hold(page, api(`/conversations/${id}`))
    await page.keyboard.press('Enter')
    await link.waitFor({ state: 'detached' })
    for (let tries = 0; tries < 20 && (await focused()) !== 'Transfers'; tries += 1)
      await page.keyboard.press('Tab')
    await goOn()
    await page.getByRole('heading', { level: 1, name: /^ada and / }).waitFor()
    // The heading names the tab after it has taken the focus.
    await expect.poll(() => page.title()).toMatch(/Conversation · bridge$/)
    expect(await focused()).toBe('Transfers')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Transfers' }).waitFor()
    await expect.poll(focused).toBe('Transfers')
    expect(await page.evaluate('document.activeElement.tagName')).toBe('H1')
    expect(visitor.faults).toEqual([])
  })

  test('shows the person who signed in elsewhere while it asked who is signed in', async () => {
    const { page, faults, close } = await chromium.visitor(bridge.url)
    const other = await page.context().newPage()
    await other.goto(`${bridge.url}/sign-in`)
    let asked = () => {}
    const isAsked = new Promise<void>((resolve) => {
      asked = resolve
    })
    const goOn = await hold(page, '**/api/admin/session', async (route, released) => {
      const response = await route.fetch()
      asked()
      await released
      await route.fulfill({ response })
    })
    await page.goto(`${bridge.url}/settings`)
    await isAsked
    await signIn(other, bridge.url)
    await goOn()
    await page.getByText('Owner of the node').waitFor()
    expect(faults).toEqual([])
    await close()
  })

  test('keeps the count of new records while it counts again', async () => {
    const { page } = visitor
    const { ada, ben } = bridge
    const id = await ada.conversationWith(ben.id)
    await page.goto(`${home}/audit`)
    await page.locator('.records > li').first().waitFor()
    await ada.send(id, ben.id, 'one record')
    const count = page.getByRole('button', { name: / new ↑$/ })
    await page.getByRole('button', { name: '1 new ↑' }).focus()
    let asked = () => {}
    const isAsked = new Promise<void>((resolve) => {
      asked = resolve
    })
    const goOn = await hold(page, '**/audit?*order=oldest_first*', async (route, released) => {
      asked()
      await released
      await route.continue()
    })
    await ada.send(id, ben.id, 'another record')
    await isAsked
    expect(await count.count()).toBe(1)
    await goOn()
    await page.getByRole('button', { name: '2 new ↑' }).and(page.locator(':focus')).waitFor()
    await page.keyboard.press('Enter')
    await expect.poll(() => count.count()).toBe(0)
    expect(visitor.faults).toEqual([])
  })
})
