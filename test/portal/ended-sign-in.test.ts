/** A sign-in that ends while tabs show a project: each question comes once, in the tab that somebody looks at. */
import type { Page, Route } from 'playwright-core'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { ownerPassword } from '../support/owner.ts'
import { type Chromium, inChromium, startChromium, type Visitor } from './chromium.ts'
import { stillness } from './looks/still.ts'
import { signIn } from './sign-in.ts'

inChromium('a sign-in that ends', () => {
  let bridge: TestBridge
  let chromium: Chromium
  let visitor: Visitor

  beforeEach(async () => {
    ;[bridge, chromium] = await Promise.all([startBridge(), startChromium()])
    visitor = await chromium.visitor(bridge.url)
    await signIn(visitor.page, bridge.url)
  })
  afterEach(async () => {
    await chromium.close()
    await bridge.close()
  })

  const question = (page: Page) => page.getByRole('dialog').getByRole('heading', { name: 'Sign in again' })
  const overview = async (page: Page) => {
    await page.goto(`${bridge.url}/projects/${bridge.project.id}`)
    await page.getByRole('rowheader', { name: 'ada' }).waitFor()
  }
  const answer = async (page: Page) => {
    await page.getByRole('dialog').getByLabel('Password').fill(ownerPassword)
    await page.getByRole('dialog').getByRole('button', { name: 'Sign in', exact: true }).click()
  }
  /** Another sign-in of the tests goes on after the clock of the node was set. */
  const end = () => bridge.clock.advance(61 * 60)

  test('asks once; without an answer the page says so, and goes on after the next sign-in', async () => {
    const { page } = visitor
    await page.goto(`${bridge.url}/node`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await overview(page)
    end()
    await question(page).waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByText('You see what the node said at').waitFor()
    expect(await question(page).count()).toBe(0)
    await page.getByRole('button', { name: 'Sign in again' }).click()
    await answer(page)
    await page.getByText('You see what the node said at').waitFor({ state: 'detached' })
    await bridge.ada.send(await bridge.ada.conversationWith(bridge.ben.id), bridge.ben.id, 'after it')
    await page
      .getByText(/sent message 1/)
      .first()
      .waitFor()
    expect(visitor.faults).toEqual([])
  })

  test('asks once on a screen that reads every few seconds', async () => {
    const { page } = visitor
    await page.goto(`${bridge.url}/node`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    end()
    await question(page).waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    for (let refused = 0; refused < 2; refused += 1)
      await page.waitForResponse((each) => each.status() === 401 && each.request().method() === 'GET')
    expect(await question(page).count()).toBe(0)
    expect(visitor.faults).toEqual([])
  })

  test('asks in the tab that somebody looks at, though the hidden one was asked first', async () => {
    const { page } = visitor
    await page.clock.install()
    await overview(page)
    const second = await page.context().newPage()
    await overview(second)
    end()
    await question(page).waitFor()
    await page.evaluate(`(() => {
      Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true })
      document.dispatchEvent(new Event('visibilitychange'))
    })()`)
    await page.clock.runFor(16_000)
    await question(second).waitFor()
    await answer(second)
    await question(second).waitFor({ state: 'detached' })
    await question(page).waitFor({ state: 'detached' })
    expect(visitor.faults).toEqual([])
  })

  test('asks no other tab while a sign-in is answered', async () => {
    const { page } = visitor
    await page.context().route('**/events*', () => {})
    const still = stillness(page)
    await page.goto(`${bridge.url}/projects/${bridge.project.id}/conversations`)
    await page.getByLabel('Message').fill('written before the end')
    await still()
    const second = await page.context().newPage()
    await overview(second)
    end()
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await question(page).waitFor()
    const [before] = await page.context().cookies()
    const isRefused = Promise.withResolvers<void>()
    let isAnswered = false
    await page.route('**/api/admin/session', async (route) => {
      if (route.request().method() === 'GET') return route.continue()
      const response = await route.fetch()
      await isRefused.promise
      isAnswered = true
      await route.fulfill({ response })
    })
    const withOldCookie = async (route: Route) => {
      if (isAnswered) return route.continue()
      const cookie = `${before?.name}=${before?.value}`
      const response = await route.fetch({ headers: { ...route.request().headers(), cookie } })
      await route.fulfill({ response })
    }
    await second.route('**/api/**', withOldCookie)
    const asked: string[] = []
    await second.exposeFunction('asked', (text: string) => asked.push(text))
    await second.evaluate(`new MutationObserver(() => {
      const dialog = document.querySelector('dialog')
      if (dialog) asked(dialog.textContent)
    }).observe(document.body, { childList: true, subtree: true })`)
    const refused = second.waitForResponse((each) => each.status() === 401)
    const isOwnSession = (each: { url(): string }) => each.url().endsWith('/api/admin/session')
    const signingIn = page.waitForRequest(isOwnSession)
    await answer(page)
    await signingIn
    await second.getByRole('navigation').getByRole('link', { name: 'Audit', exact: true }).click()
    await (await refused).finished()
    // A tab that asks who is signed in is refused as well. This one waits for the sign-in, so nothing comes.
    await second.waitForResponse(isOwnSession, { timeout: 1000 }).catch(() => {})
    isRefused.resolve()
    await page.getByRole('heading', { level: 1, name: 'ada and the owner' }).waitFor()
    await second.locator('.records > li').first().waitFor()
    expect(asked).toEqual([])
    await page.context().unrouteAll({ behavior: 'ignoreErrors' })
    expect(visitor.faults).toEqual([])
  })
})
