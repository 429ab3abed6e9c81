/** Settings of the person who is signed in: sign-ins, password and display. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { ownerPassword } from '../support/owner.ts'
import { type Chromium, inChromium, startChromium, type Visitor } from './chromium.ts'
import { stillness } from './looks/still.ts'
import { signIn } from './sign-in.ts'

inChromium('settings', () => {
  let bridge: TestBridge
  let chromium: Chromium
  let visitor: Visitor
  /** Another browser of the same person. */
  let other: Visitor
  let otherIsStill: () => Promise<void>

  beforeAll(async () => {
    ;[bridge, chromium] = await Promise.all([startBridge(), startChromium()])
    visitor = await chromium.visitor(bridge.url)
    other = await chromium.visitor(bridge.url, { userAgent: 'Mozilla/5.0 (Windows NT 10.0) Firefox/150.0' })
    otherIsStill = stillness(other.page)
    await signIn(visitor.page, bridge.url, '/settings')
    await signIn(other.page, bridge.url)
  })
  afterAll(async () => {
    await chromium.close()
    await bridge.close()
  })

  const button = (name: string | RegExp, { page } = visitor) =>
    page.getByRole('button', { name, exact: true })
  const dialog = ({ page } = visitor) => page.getByRole('dialog')
  const othersRow = () => visitor.page.getByRole('row').filter({ hasText: 'Firefox 150 on Windows' })

  /** Names a new project in the other browser, whose screen sends nothing more by itself. */
  const makeProject = async (name: string) => {
    await other.page.goto(`${bridge.url}/`)
    await otherIsStill()
    await button('New project', other).click()
    await other.page.getByLabel('Name of the project').fill(name)
  }
  const namesOfProjects = async () => {
    await other.page.goto(`${bridge.url}/`)
    await other.page.locator('.card').nth(1).waitFor()
    return other.page.locator('.card h2').allTextContents()
  }

  test('show who is signed in, and where', async () => {
    const { page, picture } = visitor
    await page.reload()
    await page.getByText('Owner of the node').waitFor()
    await othersRow().waitFor()
    expect(await page.getByText('this one').count()).toBe(1)
    await picture('settings')
  })

  test('end a sign-in of another browser, which then asks for the password over its page', async () => {
    const { picture } = visitor
    await button('End the sign-in of Firefox 150 on Windows').click()
    await picture('settings-end')
    await dialog().getByRole('button', { name: 'Cancel' }).click()
    await makeProject('second')
    await button('End the sign-in of Firefox 150 on Windows').click()
    await dialog().getByRole('button', { name: 'End the sign-in' }).click()
    await othersRow().waitFor({ state: 'detached' })
    await button('Make the project', other).click()
    await dialog(other).getByText('The sign-in has ended.').waitFor()
    await dialog(other).getByLabel('Password').fill(ownerPassword)
    await dialog(other).getByRole('button', { name: 'Sign in' }).click()
    await other.page.getByRole('heading', { level: 1, name: 'Name two agents' }).waitFor()
    expect(await namesOfProjects()).toEqual(['demo', 'second'])
  })

  test('are kept in this browser, and nothing else is', async () => {
    const { page, picture } = visitor
    const scheme = () => page.evaluate('getComputedStyle(document.documentElement).colorScheme')
    expect(await scheme()).toBe('light dark')
    await page.getByLabel('Dark').check()
    await page.getByLabel('UTC').check()
    await page.getByLabel('Exact').check()
    await page.getByLabel('Keep watching').check()
    await page.reload()
    await page.getByText(/UTC at the latest/).waitFor()
    expect(await scheme()).toBe('dark')
    expect(await page.getByLabel('Keep watching').isChecked()).toBe(true)
    expect(await page.evaluate('JSON.stringify([Object.keys(localStorage), sessionStorage.length])')).toBe(
      '[["bridge-preferences"],0]',
    )
    await picture('settings-dark')
    await page.goto(`${bridge.url}/projects/${bridge.project.id}`)
    const activity = page.locator('.activity time').first()
    await activity.waitFor()
    expect(await activity.textContent()).toMatch(/\d\d:\d\d:\d\d UTC$/)
    await page.goto(`${bridge.url}/settings`)
    await page.evaluate(`localStorage.setItem('bridge-preferences', '{"theme":"<b>","times":7}')`)
    await page.reload()
    await page.getByLabel('As the system').waitFor()
    expect(await page.getByLabel('As the system').isChecked()).toBe(true)
    expect(await page.getByLabel('How long ago').isChecked()).toBe(true)
  })

  test('change the password after the present one, and every sign-in ends', async () => {
    const { page, picture } = visitor
    bridge.clock.advance(11 * 60)
    await makeProject('third')
    await button('Change password…').click()
    await dialog().getByLabel('New password').fill('too short')
    await dialog().getByRole('button', { name: 'Change the password' }).click()
    expect(await page.evaluate(`document.querySelector('dialog :invalid').value`)).not.toBe('')
    await dialog().getByLabel('New password').fill('another horse, another staple')
    await dialog().getByRole('button', { name: 'Change the password' }).click()
    await dialog().getByText('This needs your password again.').waitFor()
    await picture('settings-password')
    await dialog().getByRole('button', { name: 'Cancel' }).click()
    expect((await bridge.owner.call({ target: '/api/admin/session' })).status).toBe(200)

    await button('Change password…').click()
    await dialog().getByLabel('New password').fill('another horse, another staple')
    await dialog().getByRole('button', { name: 'Change the password' }).click()
    await dialog().getByLabel('Password', { exact: true }).fill('not the password')
    await dialog().getByRole('button', { name: 'Change the password' }).click()
    await dialog().getByText('The password is wrong.').waitFor()
    await dialog().getByLabel('Password', { exact: true }).fill(ownerPassword)
    await dialog().getByRole('button', { name: 'Change the password' }).click()
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor()
    expect((await bridge.owner.call({ target: '/api/admin/session' })).status).toBe(401)
  })

  test('changed elsewhere: the page asks for the new password, and the act goes on', async () => {
    await button('Make the project', other).click()
    await dialog(other).getByLabel('Password').fill(ownerPassword)
    await dialog(other).getByRole('button', { name: 'Sign in' }).click()
    await dialog(other).getByRole('alert').waitFor()
    await dialog(other).getByLabel('Password').fill('another horse, another staple')
    await dialog(other).getByRole('button', { name: 'Sign in' }).click()
    await other.page.getByRole('heading', { level: 1, name: 'Name two agents' }).waitFor()
    expect(await namesOfProjects()).toEqual(['demo', 'second', 'third'])
    expect(other.faults).toEqual([])
  })

  test('a sign-out in one tab leaves no data in another', async () => {
    const tab = await other.page.context().newPage()
    await tab.goto(`${bridge.url}/settings`)
    await tab.getByRole('button', { name: 'Sign out' }).first().click()
    await other.page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor()
    expect(await other.page.getByText('demo').count()).toBe(0)
    expect([...visitor.faults, ...other.faults]).toEqual([])
  })
})
